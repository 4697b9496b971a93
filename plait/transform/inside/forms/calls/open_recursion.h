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
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/inside/forms/staged.h"

namespace plait {

// A function that is being recorded, so that calls of itself can find it. It is recorded
// repeatedly, up to a fixed point: the first round finds its result types, from a path without
// recursion; later rounds find its captures.
class OpenRecursion {
 public:
  // Distinguishes it from other open functions.
  struct Key {
    const void* function = nullptr;  // the callable that it was made from
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

  // Returns the innermost one on this thread that takes arguments of these types, or null.
  static OpenRecursion* find(const Key& key, std::span<const ir::Type> arguments);
  static int open_count();  // on this thread

  // True if the trace, or one around it, records an open function.
  static bool is_recorded_in(const Trace& trace);

  // Records a call of itself.
  std::vector<Tensor> call(std::span<const Tensor> arguments);

  // Declares results that are known in advance.
  void expect(ir::Signature signature) {
    signature_ = std::move(signature);
    is_expected_ = true;
  }
  // Records within that trace, and declares the signature there.
  void record_within(Trace& trace);
  // Where the arguments of its first call are: where the body expects its parameters.
  void expect_devices_of(std::span<const Tensor> arguments);
  // Records `body`. The program is a part of the trace that `body` ran in.
  StagedFunction stage(const TensorFunction& body);

  std::any structure;  // structure of the results, for the caller

 private:
  friend std::vector<Tensor> run_open_call(const ir::Instruction&, std::span<const Tensor>);
  friend std::optional<ir::Callee> close_open_call(const Trace&, const ir::Instruction&);

  // Returns the innermost one on this thread that passes the test, or null.
  template <class Test>
  static OpenRecursion* innermost(Test test);

  bool takes(std::span<const ir::Type> arguments) const;
  // True if the arguments differ from the parameters in sizes only, and the depth of the recursion
  // depends on a value.
  bool should_take(std::span<const ir::Type> arguments) const;
  std::vector<Tensor> call_with_captures(std::span<const Tensor> operands) const;
  std::vector<Tensor> as_taken(std::span<const Tensor> operands) const;
  ir::Callee callee(std::span<const ir::Type> operands) const;
  // Records `body` once. Empty if it calls itself with other types, which are its parameters then.
  std::optional<RecordedFunction> record(Trace& trace, const TensorFunction& body);
  // TypeError if the results can never be those that its calls were recorded with.
  void check_results(const ir::Signature& found) const;

  const Key key_;
  const std::string name_;
  const uint64_t number_;
  std::vector<ir::Type> parameters_;
  std::vector<Device> devices_;  // one a parameter; empty if they are not known
  std::vector<Tensor> captures_;
  std::optional<ir::Signature> signature_;  // once the results are known
  bool is_expected_ = false;
  const Trace* trace_ = nullptr;
  OpenRecursion* const outer_;
  const int depth_;
};

// Thrown while the results of a function are unknown. A branch that ends this way takes the result
// types of the other branches.
struct UnknownResults : Unwinding {
  explicit UnknownResults(const OpenRecursion* called) : function(called) {}
  const OpenRecursion* function;
};
// Placeholders for results of these types, until they are known.
std::vector<Tensor> placeholder_results(std::span<const ir::Type> types);

// Calls of open functions within recorded functions: run again, or included in the program of
// a trace.
bool is_open_call(const ir::Instruction& instruction);
std::vector<Tensor> run_open_call(const ir::Instruction& instruction,
                                  std::span<const Tensor> operands);
std::optional<ir::Callee> close_open_call(const Trace& into, const ir::Instruction& instruction);
// True if a function of the program has such a call.
bool has_open_calls(const ir::Program& program);

}  // namespace plait
