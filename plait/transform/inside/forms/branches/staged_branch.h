// `cond` and `switch` in traces.
#pragma once

#include <span>
#include <vector>

#include "plait/ir/primitive.h"
#include "plait/transform/control/control.h"

namespace plait::control {

// Records the instruction into the open trace, with the branches as its callees, and follows it.
// TypeError unless all branches return the same types.
Tensors stage_branches(ir::Structure structure, const Tensor& index,
                       const std::vector<TensorFunction>& branches,
                       std::span<const Tensor> operands);

}  // namespace plait::control
