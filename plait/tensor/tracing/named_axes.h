// Values along named axes. Their types list the axes along which they vary.
#pragma once

#include <span>
#include <vector>

#include "plait/ir/primitive.h"
#include "plait/tensor/tensor.h"
#include "plait/tensor/tracing/open_axes.h"

namespace plait {

// The axes along which x varies.
ir::AxisSet axes_of(const Tensor& x);
// The same value, with a type that varies along these axes too.
Tensor vary_along(const Tensor& x, const ir::AxisSet& axes);
std::vector<Tensor> vary_together(std::vector<Tensor> tensors);  // along the union of their axes

// The operands of a primitive, made to vary along the axes that it requires: those of an ordinary
// primitive along the same axes, those of a collective along its own.
std::vector<Tensor> agreeing(const ir::Primitive& primitive, std::span<const Tensor> operands,
                             const ir::Attributes& attributes);

}  // namespace plait
