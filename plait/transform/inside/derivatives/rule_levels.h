// Levels that follow a function with rules of its own, or an instruction whose callees have such
// rules. The innermost level uses the rules. The outer levels differentiate what the rules compute:
// the results and the residuals.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/tensor/tensor.h"
#include "plait/tensor/tracing/level.h"
#include "plait/transform/control/control.h"
#include "plait/transform/derivatives/follow.h"
#include "plait/transform/inside/forms/staged.h"

namespace plait::customs {

class RuleLevels {
 public:
  // `innermost`: the number of the level, unless the tape is further in.
  RuleLevels(uint64_t innermost, std::span<const Tensor> arguments);
  // With the innermost one of the levels that follow the arguments.
  explicit RuleLevels(std::span<const Tensor> arguments);

  uint64_t innermost() const { return innermost_; }
  // True if the tape is the innermost level, although its number is lower.
  bool is_tape() const { return tape_ != nullptr; }
  // The arguments as the outer levels see them, and as the others do.
  std::vector<Tensor> outer(std::span<const Tensor> arguments) const;
  std::vector<Tensor> inner(std::span<const Tensor> arguments) const;

 private:
  uint64_t innermost_;
  LevelPtr tape_;
};

std::vector<Tensor> below_all(std::span<const Tensor> tensors, uint64_t level);

// A result with the derivation that is seen by levels that do not use the rule.
struct SeenResult {
  size_t place;
  Tensor result;
};
// Those of the results that are followed.
std::vector<SeenResult> seen_results(std::span<const Tensor> results);
// Follows the rule, and adds the derivatives through the seen results.
std::vector<Tensor> follow_with(Custom custom, std::span<const SeenResult> seen);

// ---- Instructions whose callees have rules.

// In the function itself, or in one that it calls.
bool has_rules(const ir::Program& program, const ir::Function& function);
bool has_rules(const StagedFunction& function);
// The same results, computed as the rules compute them, and without rules: what outer levels
// differentiate.
TensorFunction without_rules(TensorFunction function);
// True if more than one level follows the operands of an instruction.
bool are_several_levels(std::span<const Tensor> operands);

}  // namespace plait::customs
