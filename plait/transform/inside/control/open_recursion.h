// Functions that call themselves while they are being recorded.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plait/core/trees/tree_key.h"
#include "plait/ir/program.h"
#include "plait/tensor/tracing/trace.h"
#include "plait/transform/inside/control/staged.h"

namespace plait {

// A function that is being recorded, for calls of itself to find. Recorded until what is known of
// it no longer changes: first its results, by a path on which it does not call itself, then what it
// captures.
class OpenRecursion {
 public:
  // What tells it from others that are open.
  struct Key {
    const void* function = nullptr;  // what it was made of
    std::string kind = {};           // and how
    TreeKey tree = {};

    friend bool operator==(const Key& a, const Key& b) {
      return a.function == b.function && a.kind == b.kind && a.tree == b.tree;
    }
  };

  OpenRecursion(Key key, std::string name, std::vector<ir::Type> parameters);
  ~OpenRecursion();
  OpenRecursion(const OpenRecursion&) = delete;
  OpenRecursion& operator=(const OpenRecursion&) = delete;

  // The innermost one of this thread that takes arguments of these types; null where there is none.
  static OpenRecursion* find(const Key& key, std::span<const ir::Type> arguments);

  // Whether that trace, or one that it is within, is of one that is open.
  static bool is_recorded_in(const Trace& trace);

  // A call of itself.
  std::vector<Tensor> call(std::span<const Tensor> arguments);

  // Results that are known from the beginning.
  void expect(ir::Signature signature) {
    signature_ = std::move(signature);
    is_expected_ = true;
  }
  // It is recorded within that trace, which is told its signature.
  void lies_in(Trace& trace);
  // Of the program that `record` leaves behind, which it is given a trace for.
  StagedFunction stage(const TensorFunction& body);

  std::any structure;  // of the results, for who calls

 private:
  friend std::vector<Tensor> run_open_call(const ir::Instruction&, std::span<const Tensor>);
  friend std::optional<ir::Callee> close_open_call(const Trace&, const ir::Instruction&);

  bool takes(std::span<const ir::Type> arguments) const;
  // Whether the calls differ in sizes only, and a value decides where they end.
  bool should_take(std::span<const ir::Type> arguments) const;
  std::vector<Tensor> call_with_captures(std::span<const Tensor> operands) const;
  std::vector<Tensor> as_taken(std::span<const Tensor> operands) const;
  ir::Callee callee(std::span<const ir::Type> operands) const;

  const Key key_;
  const std::string name_;
  const uint64_t number_;
  std::vector<ir::Type> parameters_;
  std::vector<Tensor> captures_;
  std::optional<ir::Signature> signature_;  // once the results are known
  bool is_expected_ = false;
  const Trace* trace_ = nullptr;
};

// Where it is not known yet what a function gives. Branches that this leaves have the types of
// others.
struct UnknownResults : Unwinding {
  explicit UnknownResults(const OpenRecursion* called) : function(called) {}
  const OpenRecursion* function;
};
// What stands for results of these types until more is known.
std::vector<Tensor> results_to_come(std::span<const ir::Type> types);

// Calls of open functions in functions that were recorded: such one run once more, or taken into
// the program of a trace.
bool is_open_call(const ir::Instruction& instruction);
std::vector<Tensor> run_open_call(const ir::Instruction& instruction,
                                  std::span<const Tensor> operands);
std::optional<ir::Callee> close_open_call(const Trace& into, const ir::Instruction& instruction);
// Whether some function of the program has such a call.
bool has_open_calls(const ir::Program& program);

}  // namespace plait
