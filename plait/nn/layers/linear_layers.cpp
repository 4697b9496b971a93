#include "plait/nn/layers/linear_layers.h"

#include <cmath>
#include <utility>

#include "plait/core/error.h"
#include "plait/nn/initialization.h"
#include "plait/nn/inside/layer_parts.h"
#include "plait/ops/call.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/neural/normalization.h"

namespace plait::nn {
Linear Linear::init(const Tensor& key, int64_t inputs, int64_t outputs,
                    const LinearOptions& options) {
  const Call call("nn::Linear");
  expect_sizes({inputs, outputs}, "a layer");
  auto [weight, bias] =
      weights_of(key, {outputs, inputs}, options.bias ? std::optional<Dim>(outputs) : std::nullopt,
                 options.dtype);
  return {.weight = std::move(weight), .bias = std::move(bias)};
}

Tensor Linear::operator()(const Tensor& x) const { return linear(x, weight, or_empty(bias)); }

Bilinear Bilinear::init(const Tensor& key, int64_t first_inputs, int64_t second_inputs,
                        int64_t outputs, const LinearOptions& options) {
  const Call call("nn::Bilinear");
  expect_sizes({first_inputs, second_inputs, outputs}, "a layer");
  if (first_inputs == 0) throw ValueError("0 first inputs, expected 1 or more");
  const double bound = 1 / std::sqrt(static_cast<double>(first_inputs));
  const Tensor keys = keys_of(key, 2);
  Bilinear made{
      .weight = uniform(keys[0], {outputs, first_inputs, second_inputs}, bound, options.dtype),
      .bias = {}};
  if (options.bias) made.bias = uniform(keys[1], {outputs}, bound, options.dtype);
  return made;
}

Tensor Bilinear::operator()(const Tensor& a, const Tensor& b) const {
  return bilinear(a, b, weight, or_empty(bias));
}

}  // namespace plait::nn
