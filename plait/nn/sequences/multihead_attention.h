// PyTorch's attention.
#pragma once

#include <cstdint>
#include <optional>

#include "plait/nn/layers/linear_layers.h"

namespace plait::nn {

struct MultiheadAttentionOptions {
  double dropout = 0;  // dropout of the attention weights
  bool bias = true;
  bool add_bias_kv = false;                     // one more key and value, which are learned
  bool add_zero_attn = false;                   // one more key and value of zeros
  std::optional<int64_t> kdim = {}, vdim = {};  // width of keys and values; embed_dim by default
  bool batch_first = false;
  DType dtype = DType::f32;
};

// Arguments of a call besides queries, keys and values. In boolean masks, true means that no
// attention goes there; numbers are added to the scores.
struct MultiheadAttentionCall {
  Tensor key_padding_mask = {};  // [batch, keys]
  bool need_weights = true;
  Tensor attn_mask = {};             // [queries, keys] or [batch · num_heads, queries, keys]
  bool average_attn_weights = true;  // over the heads
  bool is_causal = false;  // a query sees keys at its own and earlier positions; needs no mask
  Tensor key = {};         // key of dropout; by default the next one of the default stream
};

struct MultiheadAttentionResult {
  Tensor output;
  std::optional<Tensor> weights;  // [batch, queries, keys], or with heads behind the batch
};

// Attention from queries [length, batch, embed_dim], or with batch_first [batch, length,
// embed_dim], or [length, embed_dim], to keys and values:
//
//   const auto layer = nn::MultiheadAttention::init(random::key(1), 8, 2, {.batch_first = true});
//   const auto [output, weights] = layer(x, x, x, {.is_causal = true});
//
// A query that sees no key has the output of zeros, where PyTorch has NaN.
struct MultiheadAttention {
  // [3 embed_dim, embed_dim], or three matrices if keys or values have another width.
  std::optional<Tensor> in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight;
  std::optional<Tensor> in_proj_bias;    // [3 embed_dim]
  std::optional<Tensor> bias_k, bias_v;  // [1, 1, embed_dim]
  Linear out_proj;
  int64_t embed_dim = 0, num_heads = 1;
  double dropout = 0;
  bool add_zero_attn = false, batch_first = false;
  bool training = true;

  static MultiheadAttention init(const Tensor& key, int64_t embed_dim, int64_t num_heads,
                                 const MultiheadAttentionOptions& options = {});
  MultiheadAttentionResult operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const MultiheadAttentionCall& call = {}) const;
};

}  // namespace plait::nn
