#include "plait/nn/layers/linear_layers.h"

#include <utility>

#include "plait/nn/inside/layer_parts.h"
#include "plait/ops/call.h"
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

}  // namespace plait::nn
