// Normalisation by the statistics of batches. `init` as in linear_layers.h.
#pragma once

#include <cstdint>
#include <optional>

#include "plait/nn/buffers.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

struct BatchNormOptions {
  double eps = 1e-5;
  double momentum = 0.1;
  bool affine = true;               // has a weight and a bias
  bool track_running_stats = true;  // without them, batches are normalised by their own statistics
  DType dtype = DType::f32;
};
// Normalises each channel of [batch, channels, space…] over batch and space: in training by the
// statistics of the batch, else by the running ones. A call of a layer that is not const updates
// these in training, so the model is a result of its loss:
//
//   value_and_grad([](Net net, const Tensor& x) {
//     const Tensor loss = mean(square(net(x)));
//     return std::pair{loss, net};
//   }, with_aux)
//
struct BatchNorm {
  std::optional<Tensor> weight, bias;
  std::optional<Buffer> running_mean, running_var;
  double eps = 1e-5;
  double momentum = 0.1;  // weight of a batch in the running statistics
  bool training = true;

  static BatchNorm init(int64_t channels, const BatchNormOptions& options = {});
  Tensor operator()(const Tensor& x);
  Tensor operator()(const Tensor& x) const;
};

}  // namespace plait::nn
