// Building blocks of transformers of today. `init` as in linear_layers.h.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "plait/nn/buffers.h"
#include "plait/nn/layers/linear_layers.h"
#include "plait/nn/layers/norm_layers.h"
#include "plait/nn/sequences/positions.h"

namespace plait::nn {

// Keys and values [..., heads, length, head_dim] of earlier positions: memory for `length`
// positions, of which `position` are filled. It is a value: attention returns the next one.
//
//   nn::KeyValueCache cache = attention.cache(16, {3});
//   std::tie(y, cache) = attention(x, cache);
struct KeyValueCache {
  Buffer keys, values;
  Buffer position;  // i64[]

  // The cache with further keys and values; CheckError if they do not fit.
  [[nodiscard]] KeyValueCache extended(const Tensor& more_keys, const Tensor& more_values) const;
};

enum class QkNorm : uint8_t { none, layer_norm, rms_norm };

struct AttentionOptions {
  bool is_causal = false;
  bool bias = true;
  std::optional<int64_t> num_kv_heads = {};  // heads of keys and values, which groups of query
                                             // heads share; as many by default
  std::optional<int64_t> head_dim = {};      // width / heads by default
  bool joined = true;  // one product for queries, keys and values, or else three
  std::optional<int64_t> context_dim = {};  // width of the context; needs joined = false
  std::optional<bool> out_bias = {};        // as bias by default
  std::optional<int64_t> window = {};       // attends to so many nearest positions only
  std::variant<std::monostate, RoPE, ALiBi> positions = {};
  QkNorm qk_norm = QkNorm::none;  // norm of queries and keys, over head_dim
  double dropout = 0;             // dropout of the attention weights
  DType dtype = DType::f32;
};

// Arguments of a call besides x.
struct AttentionCall {
  Tensor attn_mask = {};  // as that of scaled_dot_product_attention
  Tensor context = {};    // keys and values are of these, [..., keys, context_dim]
  Tensor positions = {};  // positions of RoPE: broadcast to x without its last dimension
  Tensor key = {};        // key of dropout; by default the next one of the default stream
};

// Multi-head attention over x of [..., length, width].
struct Attention {
  using Norm = std::variant<LayerNorm, RMSNorm>;

  std::optional<Linear> qkv;  // width to that of all queries, keys and values, or q, k and v
  std::optional<Linear> q, k, v;
  Linear out;  // width of all heads to width
  std::optional<Norm> q_norm, k_norm;
  int64_t heads = 1, kv_heads = 1, head_dim = 0;
  bool is_causal = false;  // each position attends to itself and earlier ones
  std::optional<int64_t> window = {};
  std::variant<std::monostate, RoPE, ALiBi> positions = {};
  double dropout = 0;
  bool training = true;

  static Attention init(const Tensor& key, int64_t width, int64_t heads,
                        const AttentionOptions& options = {});
  // The mask is that of scaled_dot_product_attention: it broadcasts to [..., heads,
  // length, length].
  Tensor operator()(const Tensor& x, const Tensor& mask = {}) const;
  Tensor operator()(const Tensor& x, const AttentionCall& call) const;
  // x are the positions behind those of the cache. Returns the next one too.
  std::pair<Tensor, KeyValueCache> operator()(const Tensor& x, const KeyValueCache& cache,
                                              const AttentionCall& call = {}) const;

  // An empty cache for `length` positions, of x with these dimensions before the length.
  KeyValueCache cache(Dim length, const Shape& batch = {}, std::optional<DType> dtype = {}) const;
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
