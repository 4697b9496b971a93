// Layers are structs of weights. `init` initialises a layer as PyTorch does by default, from a key
// (ops/random/random.h); braces make one from existing weights: Linear{weight, bias}.
#pragma once

#include <cstdint>
#include <optional>

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

// a^T w b + bias for each output, along the last dimensions of a and b.
struct Bilinear {
  Tensor weight;               // [outputs, first inputs, second inputs]
  std::optional<Tensor> bias;  // [outputs]

  static Bilinear init(const Tensor& key, int64_t first_inputs, int64_t second_inputs,
                       int64_t outputs, const LinearOptions& options = {});
  Tensor operator()(const Tensor& a, const Tensor& b) const;
};

}  // namespace plait::nn
