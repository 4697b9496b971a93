// Building blocks of transformers. `init` as in layers.h.
#pragma once

#include <cstdint>

#include "plait/nn/layers/linear_layers.h"

namespace plait::nn {

struct AttentionOptions {
  bool is_causal = false;
  bool bias = true;
  DType dtype = DType::f32;
};
// Multi-head self-attention over x of [..., length, width]. One product computes queries, keys
// and values.
struct Attention {
  Linear qkv;  // width to 3 · width
  Linear out;  // width to width
  int64_t heads = 1;
  bool is_causal = false;  // each position attends to itself and earlier ones

  static Attention init(const Tensor& key, int64_t width, int64_t heads,
                        const AttentionOptions& options = {});
  // The mask is that of scaled_dot_product_attention: it broadcasts to [..., heads,
  // length, length].
  Tensor operator()(const Tensor& x, const Tensor& mask = {}) const;
};

using Activation = Tensor (*)(const Tensor& x);
Tensor exact_gelu(const Tensor& x);  // gelu without its option

struct MlpOptions {
  Activation activation = exact_gelu;
  bool bias = true;
  DType dtype = DType::f32;
};
// Two linear layers with an activation between them.
struct Mlp {
  Linear up;    // width to hidden
  Linear down;  // hidden to width
  Activation activation = exact_gelu;

  static Mlp init(const Tensor& key, int64_t width, int64_t hidden, const MlpOptions& options = {});
  Tensor operator()(const Tensor& x) const;
};

}  // namespace plait::nn
