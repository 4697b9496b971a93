// What primitives that work along one axis share.
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

// For the axis of an operand in a type rule, which counts from the beginning: IndexError else.
void expect_axis(const ir::Inference& in, int64_t axis, size_t operand = 0);
// Whether it holds of the sizes. What a trace does not know it asks of the sizes as they are, which
// leaves a guard; where nobody knows these, it is required on entry.
bool sizes_hold(const SizeFact& fact);
bool is_some(Dim size);  // above 0
// Refuses a size of 0, for a function that needs some elements.
void expect_some(std::string_view function, const Tensor& x, Dim size);
// The axis from the beginning, where it may count from the end.
int64_t normal_axis(int64_t axis, size_t rank);

// How a primitive combines the elements along its axes; nothing where it does more, or something
// else.
std::optional<ir::Reduction> reduction_of(const ir::Primitive& primitive);

// The greatest along axes; the least number that there is where there is nothing.
Tensor max_or_lowest(const Tensor& x, const Axes& axes, bool keepdims);

// The sum along named axes, as types list them (tensor/tracing/named_axes.h).
Tensor sum_along(const Tensor& x, const ir::AxisSet& axes);

// For batching rules: all operands with the new dimension in front, repeated where it was not.
std::vector<Tensor> all_batched(std::span<const Tensor> operands, const std::vector<bool>& batched);

// The batching rule of a primitive whose attributes hold an `axis`, which moves on by one.
template <class Attributes>
std::vector<Tensor> batch_along(const ir::Primitive& primitive, const ir::Attributes& attributes,
                                std::span<const Tensor> operands,
                                const std::vector<bool>& batched) {
  Attributes later = attributes.as<Attributes>();
  ++later.axis;
  return apply_all(primitive, all_batched(operands, batched), ir::Attributes::of(std::move(later)));
}

}  // namespace plait
