// Normalisation of each channel of each sample. `init` as in linear_layers.h.
#pragma once

#include <cstdint>
#include <optional>

#include "plait/nn/buffers.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

struct InstanceNormOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;  // weight of a batch in the running statistics
  bool affine = false;                   // has a weight and a bias
  bool track_running_stats = false;      // normalises by them when it is not in training
  DType dtype = DType::f32;
};
// Normalises each channel of [batch, channels, space…] or [channels, space…] over space: by its own
// statistics, or by the running ones if there are some and the layer is not in training. A call
// in training updates these; ValueError if the layer is const.
template <size_t rank>
struct InstanceNorm {
  std::optional<Tensor> weight, bias;
  std::optional<Buffer> running_mean, running_var;
  std::optional<Buffer> num_batches_tracked;  // i64[], always 0: PyTorch has it
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;
  bool training = true;

  static InstanceNorm init(int64_t channels, const InstanceNormOptions& options = {});
  Tensor operator()(const Tensor& x);
  Tensor operator()(const Tensor& x) const;
};
using InstanceNorm1d = InstanceNorm<1>;
using InstanceNorm2d = InstanceNorm<2>;
using InstanceNorm3d = InstanceNorm<3>;

}  // namespace plait::nn
