#include "plait/nn/layers/batch_norm.h"

#include <string_view>
#include <vector>

#include "plait/core/error.h"
#include "plait/nn/inside/layer_changes.h"
#include "plait/nn/inside/layer_parts.h"
#include "plait/nn/inside/layer_ranks.h"
#include "plait/nn/inside/running_statistics.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/collectives/collective.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/neural/normalization.h"
#include "plait/ops/reductions/reduce.h"

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
                        .momentum = layer.momentum.value_or(1),
                        .eps = layer.eps});
}

// The effective momentum of the running statistics: 1/n for the n-th batch if they are cumulative.
Tensor share_of_batch(const BatchNorm& layer, DType dtype) {
  if (layer.momentum) return full({}, *layer.momentum, dtype);
  if (!layer.num_batches_tracked) {
    throw ValueError("expected a momentum or num_batches_tracked").at(Location::of_caller());
  }
  return 1. / astype(*layer.num_batches_tracked, dtype);
}

void keep(std::optional<Buffer>& running, const Tensor& next) {
  if (!running) return;
  expect_same_record(kRunningStatistics, *running, next);
  running = next;
}

void count_batch(BatchNorm& layer) {
  if (layer.num_batches_tracked) keep(layer.num_batches_tracked, *layer.num_batches_tracked + 1);
}

void follow(std::optional<Buffer>& running, const Tensor& batch, const BatchNorm& layer) {
  if (!running) return;
  keep(running, moved_towards(*running, batch, share_of_batch(layer, running->dtype())));
}

// A const layer cannot keep the statistics of a batch.
void expect_no_statistics(const BatchNorm& layer) {
  const bool keeps = layer.running_mean || layer.running_var || layer.num_batches_tracked;
  if (layer.training && keeps) refuse_const_layer(kRunningStatistics);
}

// ---- Statistics over a named axis.

struct BatchStatistics {
  Tensor mean, var;  // [1, channels, 1…]
  Dim count;         // number of elements per channel
};

BatchStatistics statistics_over(const Tensor& x, const std::string& axis_name) {
  std::vector<int64_t> axes{0};
  Dim count = x.shape(0) * axis_size(axis_name);
  for (size_t i = 2; i < x.rank(); ++i) {
    axes.push_back(static_cast<int64_t>(i));
    count = count * x.shape(static_cast<int64_t>(i));
  }
  const auto averaged = [&](const Tensor& each) {
    return all_reduce_mean(mean(each, axes, true), axis_name);
  };
  const Tensor middle = averaged(x);
  return {middle, averaged(square(x - middle)), count};
}

// One number per channel, shaped to broadcast with x.
Tensor by_channel(const std::optional<Tensor>& numbers, const Tensor& x) {
  Shape shape{x.shape(1)};
  while (shape.rank() + 1 < x.rank()) shape.append(1);
  return reshape(astype(*numbers, x.dtype()), shape);
}

}  // namespace

BatchNorm BatchNorm::init(int64_t channels, const BatchNormOptions& options) {
  const Call call("nn::BatchNorm");
  expect_sizes({channels}, "channels");
  expect_not_negative("eps", options.eps);
  if (options.momentum && !(*options.momentum >= 0 && *options.momentum <= 1)) {
    throw ValueError("the momentum is {}, expected 0 to 1", *options.momentum);
  }
  BatchNorm made{.weight = {},
                 .bias = {},
                 .running_mean = {},
                 .running_var = {},
                 .num_batches_tracked = {},
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
    made.num_batches_tracked = zeros({}, DType::i64);
  }
  return made;
}

Tensor BatchNorm::operator()(const Tensor& x) {
  const Call call("nn::BatchNorm", x);
  const BatchNormed normed = normed_batch(*this, x);
  if (!training) return normed.values;
  count_batch(*this);
  if (is_empty_batch(x)) return normed.values;
  if (momentum) {
    keep(running_mean, normed.running_mean);
    keep(running_var, normed.running_var);
  } else {
    follow(running_mean, normed.running_mean, *this);
    follow(running_var, normed.running_var, *this);
  }
  return normed.values;
}
Tensor BatchNorm::operator()(const Tensor& x) const {
  const Call call("nn::BatchNorm", x);
  expect_no_statistics(*this);
  return normed_batch(*this, x).values;
}

template <size_t rank>
BatchNormOfRank<rank> BatchNormOfRank<rank>::init(int64_t channels,
                                                  const BatchNormOptions& options) {
  const std::string name = name_of_layer("BatchNorm", rank);
  const Call call(name);
  return {BatchNorm::init(channels, options)};
}

namespace {

void expect_space(const Tensor& x, size_t rank) {
  const std::string name = name_of_layer("BatchNorm", rank);
  if (rank == 1) {
    expect_dimensions(name, x, {2, 3});
  } else {
    expect_dimensions(name, x, {rank + 2});
  }
}

}  // namespace

template <size_t rank>
Tensor BatchNormOfRank<rank>::operator()(const Tensor& x) {
  expect_space(x, rank);
  return BatchNorm::operator()(x);
}
template <size_t rank>
Tensor BatchNormOfRank<rank>::operator()(const Tensor& x) const {
  expect_space(x, rank);
  return BatchNorm::operator()(x);
}

SyncBatchNorm SyncBatchNorm::init(int64_t channels, std::string axis_name,
                                  const BatchNormOptions& options) {
  const Call call("nn::SyncBatchNorm");
  return {BatchNorm::init(channels, options), std::move(axis_name)};
}

Tensor SyncBatchNorm::operator()(const Tensor& x) {
  const Call call("nn::SyncBatchNorm", x);
  expect_dimensions("nn::SyncBatchNorm", x, {2, 3, 4, 5});
  if (axis_name.empty() || !training) return BatchNorm::operator()(x);
  const Tensor numbers = astype(x, computed(x.dtype()));
  const auto [mean, var, count] = statistics_over(numbers, axis_name);
  count_batch(*this);
  if (!is_empty_batch(x)) {
    follow(running_mean, flatten(mean), *this);
    follow(running_var, flatten(var) * count / (count - 1), *this);
  }
  Tensor scale = rsqrt(var + eps);
  if (weight) scale = scale * by_channel(weight, numbers);
  Tensor values = (numbers - mean) * scale;
  if (bias) values = values + by_channel(bias, numbers);
  return astype(values, inexact(x.dtype()));
}
Tensor SyncBatchNorm::operator()(const Tensor& x) const {
  const Call call("nn::SyncBatchNorm", x);
  expect_no_statistics(*this);
  SyncBatchNorm updated = *this;
  return updated(x);
}

template struct BatchNormOfRank<1>;
template struct BatchNormOfRank<2>;
template struct BatchNormOfRank<3>;

}  // namespace plait::nn
