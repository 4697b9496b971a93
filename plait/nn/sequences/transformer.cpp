#include "plait/nn/sequences/transformer.h"

#include <array>
#include <vector>

#include "plait/core/error.h"
#include "plait/nn/inside/attention_parts.h"
#include "plait/nn/inside/layer_parts.h"
#include "plait/nn/inside/sequence_parts.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/effects/check.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/neural/activation.h"

namespace plait::nn {
namespace {

using Three = std::array<Tensor, 3>;  // queries, keys and values

// ---- Checks.

void check_positions(const AttentionOptions& options, int64_t heads, int64_t head_dim) {
  if (const RoPE* rope = std::get_if<RoPE>(&options.positions)) {
    if (rope->head_dim != head_dim) {
      throw ValueError("a RoPE for heads of {}, expected one for {}", rope->head_dim, head_dim);
    }
  }
  if (const ALiBi* alibi = std::get_if<ALiBi>(&options.positions)) {
    if (alibi->num_heads != heads) {
      throw ValueError("an ALiBi for {} heads, expected one for {}", alibi->num_heads, heads);
    }
  }
}

void check_sizes(int64_t width, int64_t heads, const AttentionOptions& options) {
  if (heads < 1 || width < 0 || (!options.head_dim && width % heads != 0)) {
    throw ValueError("{} heads of a width of {}: the width must be a multiple of the heads", heads,
                     width);
  }
  const int64_t kv_heads = options.num_kv_heads.value_or(heads);
  expect_whole("num_kv_heads", kv_heads, 1);
  if (heads % kv_heads != 0) {
    throw ValueError("{} heads share {} heads of keys and values: they must be a multiple", heads,
                     kv_heads);
  }
  expect_whole("head_dim", options.head_dim.value_or(0));
  expect_whole("window", options.window.value_or(1), 1);
  expect_probability("dropout", options.dropout);
  if (options.joined && options.context_dim.value_or(width) != width) {
    throw ValueError("a context of {} beside inputs of {} needs weights of its own",
                     *options.context_dim, width)
        .hint(".joined = false");
  }
}

// ---- Parts.

void set_projections(Attention& made, const Tensor& key, int64_t width,
                     const AttentionOptions& options) {
  const LinearOptions linear{.bias = options.bias, .dtype = options.dtype};
  const int64_t queries = made.heads * made.head_dim, keys = made.kv_heads * made.head_dim;
  if (options.joined) {
    made.qkv = Linear::init(key, width, queries + 2 * keys, linear);
    return;
  }
  const int64_t context = options.context_dim.value_or(width);
  const Tensor three = keys_of(key, 3);
  made.q = Linear::init(three[0], width, queries, linear);
  made.k = Linear::init(three[1], context, keys, linear);
  made.v = Linear::init(three[2], context, keys, linear);
}

std::optional<Attention::Norm> norm_of(const AttentionOptions& options, int64_t head_dim) {
  switch (options.qk_norm) {
    case QkNorm::none: break;
    case QkNorm::layer_norm: return LayerNorm::init(head_dim, {.dtype = options.dtype});
    case QkNorm::rms_norm: return RMSNorm::init(head_dim, {.dtype = options.dtype});
  }
  return {};
}

Tensor normed(const std::optional<Attention::Norm>& norm, const Tensor& x) {
  return norm ? std::visit([&](const auto& each) { return each(x); }, *norm) : x;
}

Three projected(const Attention& layer, const Tensor& x, const Tensor& context) {
  if (!layer.qkv) return {(*layer.q)(x), (*layer.k)(context), (*layer.v)(context)};
  const int64_t first = layer.heads * layer.head_dim;
  const int64_t second = first + layer.kv_heads * layer.head_dim;
  const std::vector<Tensor> own = split_at((*layer.qkv)(x), {first, second}, -1);
  if (context.identity() == x.identity()) return {own[0], own[1], own[2]};
  const std::vector<Tensor> other = split_at((*layer.qkv)(context), {first, second}, -1);
  return {own[0], other[1], other[2]};
}

// The same by heads, with norms and rotations.
Three prepared(const Attention& layer, const Tensor& x, const Tensor& offset,
               const AttentionCall& call) {
  auto [q, k, v] = projected(layer, x, call.context ? call.context : x);
  q = normed(layer.q_norm, by_heads(q, layer.heads));
  k = normed(layer.k_norm, by_heads(k, layer.kv_heads));
  if (const RoPE* rope = std::get_if<RoPE>(&layer.positions)) {
    const Tensor positions =
        call.positions ? expand_dims(call.positions, -2) : Tensor();  // the same for all heads
    const Operand first = offset ? Operand(offset) : Operand(0);
    q = (*rope)(q, positions, first);
    k = (*rope)(k, positions, first);
  }
  return {q, k, by_heads(v, layer.kv_heads)};
}

// True where queries see keys, by their places in the cache and by the window.
Tensor seen_keys(const Attention& layer, Dim queries, Dim keys, const Operand& offset) {
  const Tensor ahead = iota(keys) - (expand_dims(iota(queries), 1) + offset);
  const Tensor seen = layer.is_causal ? less_equal(ahead, 0)
                                      : less(iota(keys), Operand(queries).as(DType::i64) + offset);
  return layer.window ? seen & less(absolute(ahead), *layer.window) : seen;
}

// An offset that is there belongs to a cache.
std::vector<Tensor> masks_of(const Attention& layer, const Tensor& attn_mask, Dim queries, Dim keys,
                             const Tensor& offset, DType dtype) {
  std::vector<Tensor> masks;
  expect_mask("attn_mask", attn_mask);
  if (attn_mask) masks.push_back(attn_mask);
  const Operand first = offset ? Operand(offset) : Operand(0);
  if (offset || layer.window) masks.push_back(seen_keys(layer, queries, keys, first));
  if (const ALiBi* alibi = std::get_if<ALiBi>(&layer.positions)) {
    masks.push_back((*alibi)(queries, keys, first, dtype));
  }
  return masks;
}

Tensor attention_of(const Attention& layer, const Three& parts, const Tensor& offset, DType dtype,
                    const AttentionCall& call) {
  const auto& [q, k, v] = parts;
  const bool has_mask = offset || layer.window;  // which is causal too
  const Attended seen =
      attended(q, k, v,
               {.masks = masks_of(layer, call.attn_mask, q.shape(-2), k.shape(-2), offset, dtype),
                .is_causal = layer.is_causal && !has_mask,
                .drop = {layer.dropout, layer.training},
                .key = call.key});
  return layer.out(from_heads(seen.values));
}

}  // namespace

KeyValueCache KeyValueCache::extended(const Tensor& more_keys, const Tensor& more_values) const {
  const Dim count = more_keys.shape(-2);
  check(less_equal(position + count, keys.shape(-2)),
        "nn::KeyValueCache is full: make a longer one, layer.cache(length)");
  const auto written = [&](const Tensor& memory, const Tensor& more) {
    return slice_update(memory, astype(more, memory.dtype()), reshape(position, {1}),
                        {static_cast<int64_t>(memory.rank()) - 2});
  };
  return {.keys = written(keys, more_keys),
          .values = written(values, more_values),
          .position = position + count};
}

Attention Attention::init(const Tensor& key, int64_t width, int64_t heads,
                          const AttentionOptions& options) {
  const Call call("nn::Attention");
  check_sizes(width, heads, options);
  Attention made{.heads = heads,
                 .kv_heads = options.num_kv_heads.value_or(heads),
                 .head_dim = options.head_dim.value_or(width / heads),
                 .is_causal = options.is_causal,
                 .window = options.window,
                 .positions = options.positions,
                 .dropout = options.dropout};
  check_positions(options, heads, made.head_dim);
  const Tensor keys = keys_of(key, 2);
  set_projections(made, keys[0], width, options);
  made.out =
      Linear::init(keys[1], heads * made.head_dim, width,
                   {.bias = options.out_bias.value_or(options.bias), .dtype = options.dtype});
  made.q_norm = norm_of(options, made.head_dim);
  made.k_norm = norm_of(options, made.head_dim);
  return made;
}

Tensor Attention::operator()(const Tensor& x, const Tensor& mask) const {
  const Call call("nn::Attention", x);
  const AttentionCall given{.attn_mask = mask};
  return attention_of(*this, prepared(*this, x, {}, given), {}, x.dtype(), given);
}

Tensor Attention::operator()(const Tensor& x, const AttentionCall& given) const {
  const Call call("nn::Attention", x);
  if (given.context && !std::holds_alternative<std::monostate>(positions)) {
    throw ValueError("a context has no cache, and no positions: they are those of x");
  }
  return attention_of(*this, prepared(*this, x, {}, given), {}, x.dtype(), given);
}

std::pair<Tensor, KeyValueCache> Attention::operator()(const Tensor& x, const KeyValueCache& cache,
                                                       const AttentionCall& given) const {
  const Call call("nn::Attention", x);
  if (given.context) {
    throw ValueError("a context has no cache, and no positions: they are those of x");
  }
  const Three parts = prepared(*this, x, cache.position, given);
  KeyValueCache next = cache.extended(parts[1], parts[2]);
  Tensor y =
      attention_of(*this, {parts[0], next.keys, next.values}, cache.position, x.dtype(), given);
  return {std::move(y), std::move(next)};
}

KeyValueCache Attention::cache(Dim length, const Shape& batch, std::optional<DType> dtype) const {
  const Call call("nn::Attention::cache");
  Shape shape = batch;
  for (const Dim size : {Dim(kv_heads), length, Dim(head_dim)}) shape.append(size);
  const Tensor empty = zeros(shape, dtype.value_or(out.weight.dtype()));
  return {.keys = empty, .values = empty, .position = zeros({}, DType::i64)};
}

Tensor exact_gelu(const Tensor& x) { return gelu(x); }

Mlp Mlp::init(const Tensor& key, int64_t width, int64_t hidden, const MlpOptions& options) {
  const Call call("nn::Mlp");
  const Tensor keys = keys_of(key, 2);
  const LinearOptions linear{.bias = options.bias, .dtype = options.dtype};
  return {.up = Linear::init(keys[0], width, hidden, linear),
          .down = Linear::init(keys[1], hidden, width, linear),
          .activation = options.activation};
}

Tensor Mlp::operator()(const Tensor& x) const { return down(activation(up(x))); }

}  // namespace plait::nn
