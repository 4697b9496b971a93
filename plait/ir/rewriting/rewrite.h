// The rewriter. It reads the instructions of a function in order and writes another function; each
// instruction, and each replacement, is offered to the rules in order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plait/ir/program.h"
#include "plait/ir/rewriting/copy_function.h"

namespace plait::ir {

// The replacement of an instruction: a short list of new instructions, and the values that replace
// its results.
class Replacement {
 public:
  // A value of the function that is being written, or a result of an instruction of the
  // replacement.
  class Value {
   public:
    Value(ValueId value) : index_(value) {}  // NOLINT: a value is one

   private:
    friend class Replacement;
    Value(uint32_t step, uint32_t result) : index_(step), result_(result), own_(true) {}
    uint32_t index_ = 0, result_ = 0;
    bool own_ = false;
  };
  struct Step {
    const Primitive* primitive = nullptr;
    std::vector<Value> operands = {};
    Attributes attributes = {};
    std::vector<Callee> callees = {};
    std::vector<Dim> size_arguments = {};
    std::vector<Type> stated_types = {};
  };

  // Adds an instruction and returns its first result.
  Value add(Step step);
  Value add(const Primitive& primitive, std::vector<Value> operands, Attributes attributes = {});
  static Value result_of(Value first, uint32_t result) { return Value(first.index_, result); }
  // One value for each result of the replaced instruction.
  void give(std::vector<Value> results) { results_ = std::move(results); }
  // The values of its data-dependent sizes; by default those of the last instruction.
  void give_sizes(std::vector<Dim> sizes) { sizes_ = std::move(sizes); }

  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<Value>& results() const { return results_; }
  const std::optional<std::vector<Dim>>& sizes() const { return sizes_; }
  // The value in the function that is being written, given the results of the steps so far;
  // ValueError if there is no such value.
  static ValueId resolve(const Value& value, std::span<const Given> given,
                         const Function& function);

 private:
  std::vector<Step> steps_;
  std::vector<Value> results_;
  std::optional<std::vector<Dim>> sizes_;
};

// The input of a rule: an instruction that is about to be added, whose operands are values of the
// function that is being written; and that function, in which their definitions can be looked up.
struct Candidate {
  const Draft& instruction;
  const Function& function;
  const Declarations& declarations;

  const Type& operand_type(size_t i) const { return function.type_of(instruction.operands[i]); }
  std::optional<Instruction> definition(size_t operand) const {
    return function.definition(instruction.operands[operand]);
  }
  // As stated, or as inferred by the type rule. Throws an Error if the instruction is invalid.
  std::vector<Type> result_types() const;
};

struct RewriteRule {
  std::string name;
  const Primitive* root = nullptr;  // the primitive that it matches; null for any
  std::function<std::optional<Replacement>(const Candidate&)> apply;
};

struct RewriteOptions {
  // A CompileError if more firings than this descend from one instruction: the rules do not
  // terminate.
  uint64_t most_firings = 1000;
};

struct RewriteStatistics {
  uint64_t candidates = 0;  // instructions offered to the rules
  uint64_t firings = 0;
};

class Rewriter {
 public:
  explicit Rewriter(std::vector<RewriteRule> rules, RewriteOptions options = {});
  ~Rewriter();
  Rewriter(Rewriter&&) noexcept;
  Rewriter& operator=(Rewriter&&) noexcept;

  // Keeps the name, signature, labels and locations of the function; a replacement inherits the
  // location. Unused instructions stay (see prune.h).
  std::shared_ptr<const Function> rewrite(const Function& function,
                                          const Declarations& declarations);
  // Rewrites every function; those in which no rule fired are shared.
  Program rewrite(const Program& program);

  const RewriteStatistics& statistics() const;  // accumulated over all calls

 private:
  struct State;
  class Pass;
  class Expansion;
  std::unique_ptr<State> state_;
};

}  // namespace plait::ir
