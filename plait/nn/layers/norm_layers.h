// Normalisation of each sample. `init` as in linear_layers.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait::nn {

struct LayerNormOptions {
  bool weight = true;
  bool bias = true;  // ignored without a weight
  double eps = 1e-5;
  DType dtype = DType::f32;
};
// Normalises the last dimensions to mean 0 and variance 1, then applies weight and bias.
struct LayerNorm {
  std::vector<int64_t> sizes;  // sizes of these dimensions
  std::optional<Tensor> weight, bias;
  double eps = 1e-5;

  static LayerNorm init(std::vector<int64_t> sizes, const LayerNormOptions& options = {});
  static LayerNorm init(int64_t size, const LayerNormOptions& options = {});
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
  std::vector<int64_t> sizes;  // sizes of these dimensions
  std::optional<Tensor> weight;
  std::optional<double> eps = {};

  static RMSNorm init(std::vector<int64_t> sizes, const RMSNormOptions& options = {});
  static RMSNorm init(int64_t size, const RMSNormOptions& options = {});
  Tensor operator()(const Tensor& x) const;
};

// x / (k + alpha m)^beta, where m is the mean of the squares of `size` neighbouring channels of
// [batch, channels, space…].
struct LocalResponseNorm {
  int64_t size = 1;
  double alpha = 1e-4;
  double beta = 0.75;
  double k = 1;

  Tensor operator()(const Tensor& x) const;
};

// LocalResponseNorm of images [batch, channels, height, width]. (PyTorch's also has the first
// channel in the windows of all others.)
struct CrossMapLRN2d {
  int64_t size = 1;
  double alpha = 1e-4;
  double beta = 0.75;
  double k = 1;

  Tensor operator()(const Tensor& images) const;
};

}  // namespace plait::nn
