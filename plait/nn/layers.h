// Layers: structs of weights. `init` initialises a layer as PyTorch does by default, from a key
// (ops/random/random.h); braces make one from existing weights: Linear{weight, bias}.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

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

// Sets elements to 0 with probability p, in training. Without a key, the next key of the default
// stream is drawn.
struct Dropout {
  double p = 0.5;
  bool training = true;

  Tensor operator()(const Tensor& x, const Tensor& key) const;
  Tensor operator()(const Tensor& x) const;
};

}  // namespace plait::nn
