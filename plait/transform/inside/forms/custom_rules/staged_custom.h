// Functions with custom rules in traces: the instructions `custom_vjp` and `custom_jvp`.
#pragma once

#include <span>
#include <vector>

#include "plait/transform/derivatives/custom.h"
#include "plait/transform/inside/forms/staged.h"

namespace plait {

// Run the instruction: followed by its rules, recorded again into a trace, or eagerly. The
// functions are its callees.
std::vector<Tensor> run_custom_vjp(const StagedFunction& function, const StagedFunction& forward,
                                   const StagedFunction& backward,
                                   std::span<const Tensor> operands);
std::vector<Tensor> run_custom_jvp(const StagedFunction& function, const StagedFunction& rule,
                                   std::span<const Tensor> operands);

}  // namespace plait
