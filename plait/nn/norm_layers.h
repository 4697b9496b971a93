// Normalisation of batches, groups and rows; LayerNorm is in layers.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

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
// Gradients of the running statistics are 0. Weight decay would change them, so it needs an
// optimizer of the other tensors.
struct BatchNorm {
  std::optional<Tensor> weight, bias;
  std::optional<Tensor> running_mean, running_var;
  double eps = 1e-5;
  double momentum = 0.1;  // weight of a batch in the running statistics
  bool training = true;

  static BatchNorm init(int64_t channels, const BatchNormOptions& options = {});
  Tensor operator()(const Tensor& x);
  Tensor operator()(const Tensor& x) const;
};

struct GroupNormOptions {
  double eps = 1e-5;
  bool affine = true;
  DType dtype = DType::f32;
};
// Normalises groups of consecutive channels of [batch, channels, space…].
struct GroupNorm {
  int64_t num_groups = 1;
  std::optional<Tensor> weight, bias;
  double eps = 1e-5;

  static GroupNorm init(int64_t num_groups, int64_t channels, const GroupNormOptions& options = {});
  Tensor operator()(const Tensor& x) const;
};

struct RMSNormOptions {
  std::optional<double> eps = {};  // the machine epsilon of the dtype by default
  bool weight = true;
  DType dtype = DType::f32;
};
// Divides the last dimensions by the root of their mean square.
struct RMSNorm {
  std::vector<int64_t> sizes;  // of these dimensions
  std::optional<Tensor> weight;
  std::optional<double> eps = {};

  static RMSNorm init(std::vector<int64_t> sizes, const RMSNormOptions& options = {});
  static RMSNorm init(int64_t size, const RMSNormOptions& options = {});
  Tensor operator()(const Tensor& x) const;
};

}  // namespace plait::nn
