// Helpers of primitives that work along one axis.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "plait/core/sizes/size_facts.h"
#include "plait/ir/inference.h"
#include "plait/tensor/apply.h"

namespace plait {

class Axes;

// For type rules: throws IndexError unless 0 ≤ axis < rank of the operand.
void expect_axis(const ir::Inference& in, int64_t axis, size_t operand = 0);
// Returns whether the fact holds. In a trace, a fact that is not proved is decided by the actual
// sizes, which adds a guard; without actual sizes it is assumed, and checked on entry of the
// function.
bool sizes_hold(const SizeFact& fact);
bool is_nonempty(Dim size);  // size > 0
// Throws ShapeError for a size of 0.
void expect_nonempty(std::string_view function, const Tensor& x, Dim size);
// Converts an axis that may count from the end to a nonnegative one.
int64_t normal_axis(int64_t axis, size_t rank);

// The reduction that the primitive is along its axes; empty if it is not exactly one.
std::optional<ir::Reduction> reduction_of(const ir::Primitive& primitive);

// The maximum along axes; over no elements, the least number of the dtype.
Tensor max_or_lowest(const Tensor& x, const Axes& axes, bool keepdims);

// The tangent of the product along an axis: the sum of each element's tangent times all other
// elements, without division, so that zeros are no problem.
Tensor tangent_of_product(const Tensor& x, const Tensor& dx, int64_t axis);

// The sum along named axes (tensor/tracing/named_axes.h).
Tensor sum_along(const Tensor& x, const ir::AxisSet& axes);

// For batching rules: all operands with the batch dimension in front; operands without one are
// repeated along it.
std::vector<Tensor> all_batched(std::span<const Tensor> operands, const std::vector<bool>& batched);

// The batching rule of a primitive with an attribute `axis`: increments it.
template <class Attributes>
std::vector<Tensor> batch_along(const ir::Primitive& primitive, const ir::Attributes& attributes,
                                std::span<const Tensor> operands,
                                const std::vector<bool>& batched) {
  Attributes later = attributes.as<Attributes>();
  ++later.axis;
  return apply_all(primitive, all_batched(operands, batched), ir::Attributes::of(std::move(later)));
}

}  // namespace plait
