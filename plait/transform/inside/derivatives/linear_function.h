// Functions that are linear in some of their parameters, run from their results to their
// parameters.
#pragma once

#include <span>
#include <vector>

#include "plait/ir/function.h"
#include "plait/tensor/tracing/trace.h"
#include "plait/transform/inside/derivatives/derivative.h"

namespace plait {

// The cotangents of the parameters in which `function` is linear: those that have no value here.
// What depends on the others alone is computed. ValueError that names the instruction where it is
// not linear.
std::vector<Tensor> transpose_function(const ir::Function& function, std::span<const Tensor> values,
                                       std::span<const Tensor> cotangents);

// The cotangents of the wanted operands of a primitive whose rule says its tangents: the rule is
// recorded, and what it recorded transposed.
std::vector<Tensor> transpose_tangents(const Application& applied,
                                       std::span<const Tensor> cotangents,
                                       const std::vector<bool>& wanted);

// What a linear map of tensors of these types sends to its arguments, from cotangents of its
// results. Arguments without a derivative are empty, and results may be. ValueError that names the
// operation where the map is not linear. It is run at 0, by host code, which may branch.
std::vector<Tensor> transpose_map(std::span<const OperandType> arguments, const TensorFunction& map,
                                  std::span<const Tensor> cotangents);

}  // namespace plait
