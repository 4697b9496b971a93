#include "plait/nn/layers/batch_norm.h"

#include "plait/core/error.h"
#include "plait/nn/inside/layer_parts.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/call.h"
#include "plait/ops/neural/normalization.h"

namespace plait::nn {
namespace {

BatchNormed normed_batch(const BatchNorm& layer, const Tensor& x) {
  // Without running statistics, those of the batch are used.
  const bool uses_batch = layer.training || !layer.running_mean || !layer.running_var;
  return batch_norm(x, {.weight = or_empty(layer.weight),
                        .bias = or_empty(layer.bias),
                        .running_mean = or_empty(layer.running_mean),
                        .running_var = or_empty(layer.running_var),
                        .training = uses_batch,
                        .momentum = layer.momentum,
                        .eps = layer.eps});
}

}  // namespace

BatchNorm BatchNorm::init(int64_t channels, const BatchNormOptions& options) {
  const Call call("nn::BatchNorm");
  expect_sizes({channels}, "channels");
  expect_not_negative("eps", options.eps);
  if (!(options.momentum >= 0 && options.momentum <= 1)) {
    throw ValueError("the momentum is {}, expected 0 to 1", options.momentum);
  }
  BatchNorm made{.weight = {},
                 .bias = {},
                 .running_mean = {},
                 .running_var = {},
                 .eps = options.eps,
                 .momentum = options.momentum};
  const Shape shape{channels};
  if (options.affine) {
    made.weight = ones(shape, options.dtype);
    made.bias = zeros(shape, options.dtype);
  }
  if (options.track_running_stats) {
    made.running_mean = zeros(shape, options.dtype);
    made.running_var = ones(shape, options.dtype);
  }
  return made;
}

Tensor BatchNorm::operator()(const Tensor& x) {
  const BatchNormed normed = normed_batch(*this, x);
  if (!training) return normed.values;
  if (running_mean) running_mean = normed.running_mean;
  if (running_var) running_var = normed.running_var;
  return normed.values;
}
Tensor BatchNorm::operator()(const Tensor& x) const { return normed_batch(*this, x).values; }

}  // namespace plait::nn
