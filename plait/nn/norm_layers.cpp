#include "plait/nn/norm_layers.h"

#include <utility>

#include "plait/core/error.h"
#include "plait/nn/inside/layer_parts.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
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

GroupNorm GroupNorm::init(int64_t num_groups, int64_t channels, const GroupNormOptions& options) {
  const Call call("nn::GroupNorm");
  expect_sizes({channels}, "channels");
  expect_not_negative("eps", options.eps);
  if (num_groups < 1 || channels % num_groups != 0) {
    throw ValueError("{} channels cannot be divided into {} groups", channels, num_groups);
  }
  GroupNorm made{.num_groups = num_groups, .weight = {}, .bias = {}, .eps = options.eps};
  if (options.affine) {
    made.weight = ones({channels}, options.dtype);
    made.bias = zeros({channels}, options.dtype);
  }
  return made;
}

Tensor GroupNorm::operator()(const Tensor& x) const {
  return group_norm(x, num_groups, or_empty(weight), or_empty(bias), eps);
}

RMSNorm RMSNorm::init(std::vector<int64_t> sizes, const RMSNormOptions& options) {
  const Call call("nn::RMSNorm");
  expect_sizes(sizes, "dimensions");
  if (options.eps) expect_not_negative("eps", *options.eps);
  RMSNorm made{.sizes = std::move(sizes), .weight = {}, .eps = options.eps};
  if (options.weight) made.weight = ones(Shape::of_sizes(made.sizes), options.dtype);
  return made;
}

RMSNorm RMSNorm::init(int64_t size, const RMSNormOptions& options) {
  return init(std::vector{size}, options);
}

Tensor RMSNorm::operator()(const Tensor& x) const {
  return rms_norm(x, Shape::of_sizes(sizes), or_empty(weight), eps);
}

}  // namespace plait::nn
