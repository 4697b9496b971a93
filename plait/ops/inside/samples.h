// Side effects under vmap. Primitives with effects run once per sample: the first dimensions of
// their operands, as many as the attribute `samples` says, index samples. vmap adds one such
// dimension.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "plait/core/function_ref.h"
#include "plait/ir/inference.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/tensor.h"

namespace plait {

// For type rules: checks that the operands have these dimensions.
void expect_samples(const ir::Inference& inference, int64_t samples);

// Called with the operands of each sample, and its index.
using SampleUse =
    FunctionRef<void(std::span<const Array> operands, std::span<const int64_t> place)>;
void for_each_sample(std::span<const Array> operands, int64_t samples, SampleUse use);

// Repeats the operands that are not batched.
std::vector<Tensor> repeated_over_samples(std::span<const Tensor> operands,
                                          const std::vector<bool>& batched);
// The batching rule: increments `samples`.
template <class Attributes>
std::vector<Tensor> batch_over_samples(const ir::Primitive& primitive, const ir::Attributes& given,
                                       std::span<const Tensor> operands,
                                       const std::vector<bool>& batched) {
  Attributes attributes = given.as<Attributes>();
  ++attributes.samples;
  return apply_all(primitive, repeated_over_samples(operands, batched),
                   ir::Attributes::of(std::move(attributes)));
}

}  // namespace plait
