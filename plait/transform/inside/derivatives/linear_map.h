// Transposition of linear maps that are host code.
#pragma once

#include <span>
#include <vector>

#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/rules.h"

namespace plait {

// Transposes a linear map on tensors of these types: returns the cotangents of its arguments,
// given those of its results. Arguments without a derivative are empty; results may be. The map
// runs once, at 0, as host code, which may branch. ValueError that names the operation if the map
// is not linear.
std::vector<Tensor> transpose_map(std::span<const OperandType> arguments, const TensorFunction& map,
                                  std::span<const Tensor> cotangents);

}  // namespace plait
