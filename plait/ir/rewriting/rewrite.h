// The one rewriter. It reads a function from its first instruction to its last and writes another;
// each instruction, and each that a rule puts in its place, is offered to the rules in order.
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

// What a rule puts in the place of an instruction: a short list of new ones, and what stands for
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

  // Adds an instruction and gives its first result.
  Value add(Step step);
  Value add(const Primitive& primitive, std::vector<Value> operands, Attributes attributes = {});
  static Value result_of(Value first, uint32_t result) { return Value(first.index_, result); }
  // One value for each result of what is replaced.
  void give(std::vector<Value> results) { results_ = std::move(results); }
  // What the sizes born in it are; without this, those that are born in the last instruction.
  void give_sizes(std::vector<Dim> sizes) { sizes_ = std::move(sizes); }

  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<Value>& results() const { return results_; }
  const std::optional<std::vector<Dim>>& sizes() const { return sizes_; }
  // The value in the function that is being written, where the steps so far gave these; ValueError
  // when it is no value there.
  static ValueId resolve(const Value& value, std::span<const Given> given,
                         const Function& function);

 private:
  std::vector<Step> steps_;
  std::vector<Value> results_;
  std::optional<std::vector<Dim>> sizes_;
};

// What a rule sees: an instruction that is about to be added, whose operands are values of the
// function that is being written, and that function, where their definitions can be looked up.
struct Candidate {
  const Draft& instruction;
  const Function& function;
  const Declarations& declarations;

  const Type& operand_type(size_t i) const { return function.type_of(instruction.operands[i]); }
  std::optional<Instruction> definition(size_t operand) const {
    return function.definition(instruction.operands[operand]);
  }
  // As stated, or as the type rule gives them. An Error when the instruction breaks the rule.
  std::vector<Type> result_types() const;
};

struct RewriteRule {
  std::string name;
  const Primitive* root = nullptr;  // what it replaces; null for any
  std::function<std::optional<Replacement>(const Candidate&)> apply;
};

struct RewriteOptions {
  // More firings than this that descend from one instruction are taken for a circle: a
  // CompileError.
  uint64_t most_firings = 1000;
};

struct RewriteStatistics {
  uint64_t candidates = 0;  // instructions that were offered to the rules
  uint64_t firings = 0;
};

class Rewriter {
 public:
  explicit Rewriter(std::vector<RewriteRule> rules, RewriteOptions options = {});
  ~Rewriter();
  Rewriter(Rewriter&&) noexcept;
  Rewriter& operator=(Rewriter&&) noexcept;

  // The function with its name, signature, labels and locations; what is replaced passes its
  // location on. What nobody uses any more stays (see prune.h).
  std::shared_ptr<const Function> rewrite(const Function& function,
                                          const Declarations& declarations);
  // Every function; those in which no rule fired are shared.
  Program rewrite(const Program& program);

  const RewriteStatistics& statistics() const;  // of all calls so far

 private:
  struct State;
  class Pass;
  class Expansion;
  std::unique_ptr<State> state_;
};

}  // namespace plait::ir
