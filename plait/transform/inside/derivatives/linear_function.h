// Transposition of functions that are linear in some of their parameters.
#pragma once

#include <span>
#include <vector>

#include "plait/ir/function.h"
#include "plait/transform/inside/derivatives/derivative.h"

namespace plait {

// Returns the cotangents of the linear parameters, those without a value in `values`. Instructions
// that depend only on the other parameters are computed. ValueError that names the first
// instruction that is not linear.
std::vector<Tensor> transpose_function(const ir::Function& function, std::span<const Tensor> values,
                                       std::span<const Tensor> cotangents);

// Returns the cotangents of the wanted operands of a primitive with a rule for tangents, by
// recording the rule and transposing the record.
std::vector<Tensor> transpose_tangents(const Application& applied,
                                       std::span<const Tensor> cotangents,
                                       const std::vector<bool>& wanted);

}  // namespace plait
