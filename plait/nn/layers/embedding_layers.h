// Embeddings. `init` as in linear_layers.h.
#pragma once

#include <cstdint>

#include "plait/tensor/tensor.h"

namespace plait::nn {

// Looks up rows of a table by ids.
struct Embedding {
  Tensor weight;  // [rows, width]

  static Embedding init(const Tensor& key, int64_t rows, int64_t width, DType dtype = DType::f32);
  Tensor operator()(const Tensor& ids) const;
};

}  // namespace plait::nn
