// What transformers are made of. `init` as in layers.h.
#pragma once

#include <cstdint>

#include "plait/nn/layers.h"

namespace plait::nn {

struct AttentionOptions {
  bool is_causal = false;
  bool bias = true;
  DType dtype = DType::f32;
};
// Self-attention of several heads, over x of [..., length, width]: one product makes queries, keys
// and values.
struct Attention {
  Linear qkv;  // width to 3 · width
  Linear out;  // width to width
  int64_t heads = 1;
  bool is_causal = false;  // each place sees itself and what is before it

  static Attention init(const Tensor& key, int64_t width, int64_t heads,
                        const AttentionOptions& options = {});
  // The mask as scaled_dot_product_attention takes it: stretches to [..., heads, length, length].
  Tensor operator()(const Tensor& x, const Tensor& mask = {}) const;
};

using Activation = Tensor (*)(const Tensor& x);
Tensor exact_gelu(const Tensor& x);  // gelu, without its choice

struct MlpOptions {
  Activation activation = exact_gelu;
  bool bias = true;
  DType dtype = DType::f32;
};
// Two layers with an activation between them.
struct Mlp {
  Linear up;    // width to hidden
  Linear down;  // and back
  Activation activation = exact_gelu;

  static Mlp init(const Tensor& key, int64_t width, int64_t hidden, const MlpOptions& options = {});
  Tensor operator()(const Tensor& x) const;
};

}  // namespace plait::nn
