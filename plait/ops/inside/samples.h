// What is seen from outside is done sample by sample: the first dimensions of what such primitives
// take count samples, as many as their attribute `samples` says. vmap adds one.
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

// A part of their type rules: that the operands have these dimensions.
void expect_samples(const ir::Inference& inference, int64_t samples);

// The operands of each sample, and where it lies.
using SampleUse =
    FunctionRef<void(std::span<const Array> operands, std::span<const int64_t> place)>;
void for_each_sample(std::span<const Array> operands, int64_t samples, SampleUse use);

// Those that are one for all samples, repeated.
std::vector<Tensor> one_each(std::span<const Tensor> operands, const std::vector<bool>& batched);
// Their batching rule.
template <class Attributes>
std::vector<Tensor> with_more_samples(const ir::Primitive& primitive, const ir::Attributes& given,
                                      std::span<const Tensor> operands,
                                      const std::vector<bool>& batched) {
  Attributes attributes = given.as<Attributes>();
  ++attributes.samples;
  return apply_all(primitive, one_each(operands, batched),
                   ir::Attributes::of(std::move(attributes)));
}

}  // namespace plait
