#include "plait/nn/layers/instance_norm.h"

#include <string_view>
#include <utility>
#include <vector>

#include "plait/core/error.h"
#include "plait/nn/inside/layer_changes.h"
#include "plait/nn/inside/layer_parts.h"
#include "plait/nn/inside/layer_ranks.h"
#include "plait/nn/inside/running_statistics.h"
#include "plait/nn/layers/batch_norm.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/neural/normalization.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/statistics.h"

namespace plait::nn {
namespace {

// Adds a batch of one sample if x has none.
template <size_t rank>
Tensor batch_of(const Tensor& x) {
  expect_dimensions(name_of_layer("InstanceNorm", rank), x, {rank + 1, rank + 2});
  return x.rank() == rank + 1 ? expand_dims(x, 0) : x;
}

template <size_t rank>
void expect_variance(const Tensor& x) {
  const Shape space(x.shape().dims().last(rank));
  if (space.element_count() != Dim(1)) return;
  throw ValueError("{}: {} has one element per channel of a sample, expected two or more",
                   name_of_layer("InstanceNorm", rank), x.type().text())
      .at(Location::of_caller())
      .hint("nn::LayerNorm or GroupNorm normalise over channels, too");
}

template <size_t rank>
Tensor normed(const InstanceNorm<rank>& layer, const Tensor& x) {
  const Tensor batch = batch_of<rank>(x);
  const bool by_running = !layer.training && layer.running_mean && layer.running_var;
  const Tensor weight = or_empty(layer.weight), bias = or_empty(layer.bias);
  Tensor values;
  if (by_running) {
    values = batch_norm(batch, {.weight = weight,
                                .bias = bias,
                                .running_mean = *layer.running_mean,
                                .running_var = *layer.running_var,
                                .training = false,
                                .eps = layer.eps})
                 .values;
  } else if (is_empty_batch(x)) {  // without statistics
    values = batch_norm(batch, {.weight = weight, .bias = bias, .eps = layer.eps}).values;
  } else {
    expect_variance<rank>(x);
    values = instance_norm(batch, weight, bias, layer.eps);
  }
  return x.rank() == rank + 1 ? squeeze(values, 0) : values;
}

}  // namespace

template <size_t rank>
InstanceNorm<rank> InstanceNorm<rank>::init(int64_t channels, const InstanceNormOptions& options) {
  const std::string name = name_of_layer("InstanceNorm", rank);
  const Call call(name);
  BatchNorm made = BatchNorm::init(channels, {.eps = options.eps,
                                              .momentum = options.momentum,
                                              .affine = options.affine,
                                              .track_running_stats = options.track_running_stats,
                                              .dtype = options.dtype});
  return {.weight = std::move(made.weight),
          .bias = std::move(made.bias),
          .running_mean = std::move(made.running_mean),
          .running_var = std::move(made.running_var),
          .num_batches_tracked = std::move(made.num_batches_tracked),
          .eps = options.eps,
          .momentum = options.momentum};
}

template <size_t rank>
Tensor InstanceNorm<rank>::operator()(const Tensor& x) {
  const Tensor values = normed(*this, x);
  if (!training || !running_mean || !running_var || is_empty_batch(x)) return values;
  const Tensor batch = batch_of<rank>(x);
  std::vector<int64_t> space;
  for (size_t i = 2; i < batch.rank(); ++i) space.push_back(static_cast<int64_t>(i));
  const double share = momentum.value_or(0);
  const Tensor next_mean = moved_towards(*running_mean, mean(mean(batch, space), 0), share);
  expect_same_record(kRunningStatistics, *running_mean, next_mean);
  running_mean = next_mean;
  running_var = moved_towards(*running_var, mean(var(batch, space, 1), 0), share);
  return values;
}
template <size_t rank>
Tensor InstanceNorm<rank>::operator()(const Tensor& x) const {
  if (training && running_mean && running_var) refuse_const_layer(kRunningStatistics);
  return normed(*this, x);
}

template struct InstanceNorm<1>;
template struct InstanceNorm<2>;
template struct InstanceNorm<3>;

}  // namespace plait::nn
