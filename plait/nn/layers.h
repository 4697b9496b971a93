// Layers: structs of weights. `init` initialises a layer as PyTorch does by default, from a key
// (ops/random/random.h); braces make one from existing weights: Linear{weight, bias}.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plait/ops/neural/convolution.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

struct LinearOptions {
  bool bias = true;
  DType dtype = DType::f32;
};
// x w^T + bias, along the last dimension.
struct Linear {
  Tensor weight;               // [outputs, inputs]
  std::optional<Tensor> bias;  // [outputs]

  static Linear init(const Tensor& key, int64_t inputs, int64_t outputs,
                     const LinearOptions& options = {});
  Tensor operator()(const Tensor& x) const;
};

struct LayerNormOptions {
  bool weight = true;
  bool bias = true;  // ignored without a weight
  double eps = 1e-5;
  DType dtype = DType::f32;
};
// Normalises the last dimensions to mean 0 and variance 1, then applies weight and bias.
struct LayerNorm {
  std::vector<int64_t> sizes;  // of these dimensions
  std::optional<Tensor> weight, bias;
  double eps = 1e-5;

  static LayerNorm init(std::vector<int64_t> sizes, const LayerNormOptions& options = {});
  static LayerNorm init(int64_t size, const LayerNormOptions& options = {});
  Tensor operator()(const Tensor& x) const;
};

// Looks up rows of a table by ids.
struct Embedding {
  Tensor weight;  // [rows, width]

  static Embedding init(const Tensor& key, int64_t rows, int64_t width, DType dtype = DType::f32);
  Tensor operator()(const Tensor& ids) const;
};

struct Conv2dOptions {
  PerDimension stride = 1;
  PerDimension padding = 0;
  PerDimension dilation = 1;
  int64_t groups = 1;
  bool bias = true;
  DType dtype = DType::f32;
};
// Convolution of images [batch, channels, height, width].
struct Conv2d {
  Tensor weight;               // [outputs, channels / groups, height, width]
  std::optional<Tensor> bias;  // [outputs]
  std::vector<int64_t> stride{1, 1}, padding{0, 0}, dilation{1, 1};
  int64_t groups = 1;

  static Conv2d init(const Tensor& key, int64_t channels, int64_t outputs,
                     const PerDimension& window, const Conv2dOptions& options = {});
  Tensor operator()(const Tensor& images) const;
};

}  // namespace plait::nn
