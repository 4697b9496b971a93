// Normalisation by the statistics of batches. `init` as in linear_layers.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "plait/core/trees/reflect.h"
#include "plait/nn/buffers.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

struct BatchNormOptions {
  double eps = 1e-5;
  // Weight of a batch in the running statistics; without one, they are the mean over all batches.
  std::optional<double> momentum = 0.1;
  bool affine = true;               // has a weight and a bias
  bool track_running_stats = true;  // without them, batches are normalised by their own statistics
  DType dtype = DType::f32;
};
// Normalises each channel of [batch, channels, space…] over batch and space: in training by the
// statistics of the batch, else by the running ones. In training a call updates these, so the model
// is a result of its loss; ValueError if the layer is const:
//
//   value_and_grad([](Net net, const Tensor& x) {
//     const Tensor loss = mean(square(net(x)));
//     return std::pair{loss, net};
//   }, with_aux)
//
struct BatchNorm {
  std::optional<Tensor> weight, bias;
  std::optional<Buffer> running_mean, running_var;
  std::optional<Buffer> num_batches_tracked;  // i64[]
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;
  bool training = true;

  static BatchNorm init(int64_t channels, const BatchNormOptions& options = {});
  Tensor operator()(const Tensor& x);
  Tensor operator()(const Tensor& x) const;
};

// BatchNorm for this number of spatial dimensions: [batch, channels] or [batch, channels, length],
// [batch, channels, height, width], or [batch, channels, depth, height, width].
template <size_t rank>
struct BatchNormOfRank : BatchNorm {
  static constexpr auto fields() {
    return plait::fields<BatchNormOfRank>(fields_of_base<BatchNorm>());
  }

  static BatchNormOfRank init(int64_t channels, const BatchNormOptions& options = {});
  Tensor operator()(const Tensor& x);
  Tensor operator()(const Tensor& x) const;
};
using BatchNorm1d = BatchNormOfRank<1>;
using BatchNorm2d = BatchNormOfRank<2>;
using BatchNorm3d = BatchNormOfRank<3>;

// BatchNorm whose statistics in training are those of all batches along a named axis of vmap (see
// ops/collective.h). Without a name it is a BatchNorm.
struct SyncBatchNorm : BatchNorm {
  std::string axis_name;

  static constexpr auto fields() {
    return plait::fields<SyncBatchNorm>(fields_of_base<BatchNorm>(), "axis_name",
                                        &SyncBatchNorm::axis_name);
  }

  static SyncBatchNorm init(int64_t channels, std::string axis_name,
                            const BatchNormOptions& options = {});
  Tensor operator()(const Tensor& x);
  Tensor operator()(const Tensor& x) const;
};

}  // namespace plait::nn
