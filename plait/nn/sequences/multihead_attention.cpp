#include "plait/nn/sequences/multihead_attention.h"

#include <array>
#include <vector>

#include "plait/core/error.h"
#include "plait/nn/initialization.h"
#include "plait/nn/inside/attention_parts.h"
#include "plait/nn/inside/layer_parts.h"
#include "plait/nn/inside/sequence_parts.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/neural/normalization.h"
#include "plait/ops/reductions/reduce.h"

namespace plait::nn {
namespace {

void check_options(int64_t embed_dim, int64_t num_heads, const MultiheadAttentionOptions& options) {
  expect_whole("embed_dim", embed_dim, 1);
  expect_whole("num_heads", num_heads, 1);
  if (embed_dim % num_heads != 0) {
    throw ValueError("{} heads of an embed_dim of {}: it must be a multiple of the heads",
                     num_heads, embed_dim);
  }
  expect_probability("dropout", options.dropout);
  expect_whole("kdim", options.kdim.value_or(embed_dim), 1);
  expect_whole("vdim", options.vdim.value_or(embed_dim), 1);
}

// Queries, keys and values, or parts of weights for them.
using Three = std::array<Tensor, 3>;

Three in_three(const Tensor& x, int64_t axis) {
  const std::vector<Tensor> parts = split(x, 3, axis);
  return {parts[0], parts[1], parts[2]};
}

Three projected(const MultiheadAttention& layer, const Three& x) {
  const Tensor bias = or_empty(layer.in_proj_bias);
  const bool is_self = x[0].identity() == x[1].identity() && x[1].identity() == x[2].identity();
  if (layer.in_proj_weight && is_self) {
    return in_three(linear(x[0], *layer.in_proj_weight, bias), -1);
  }
  const Three weights = layer.in_proj_weight ? in_three(*layer.in_proj_weight, 0)
                                             : Three{*layer.q_proj_weight, *layer.k_proj_weight,
                                                     *layer.v_proj_weight};
  const Three biases = bias ? in_three(bias, 0) : Three();
  Three made;
  for (size_t i = 0; i < 3; ++i) made[i] = linear(x[i], weights[i], biases[i]);
  return made;
}

// Keys or values [batch, length, width] with one more at the end, if there is one.
Tensor with_one_more(const Tensor& x, const std::optional<Tensor>& bias) {
  if (!bias) return x;
  const Tensor each[] = {x, broadcast_to((*bias)[0], {x.shape(0), 1, x.shape(-1)})};
  return concat(each, -2);
}

void check_padding(const Tensor& mask, Dim batch, Dim keys, bool has_batch) {
  expect_mask("key_padding_mask", mask);
  const Shape expected = has_batch ? Shape{batch, keys} : Shape{keys};
  if (!mask || same(mask.shape(), expected)) return;
  throw ShapeError("key_padding_mask is {}, expected {}: {}", mask.type().text(), expected.text(),
                   has_batch ? "[batch, keys]" : "[keys]")
      .at(Location::of_caller());
}

Tensor mask_by_heads(const Tensor& mask, int64_t heads) {
  if (mask.rank() == 2) return mask;
  if (mask.rank() == 3) return unflatten(mask, 0, {-1, heads});
  throw ShapeError(
      "attn_mask is {}, expected [queries, keys] or [batch * num_heads, queries, keys]",
      mask.type().text());
}

// The masks as those of scaled_dot_product_attention: true where attention goes. The keys that the
// layer has added are seen.
std::vector<Tensor> masks_of(const MultiheadAttention& layer, const MultiheadAttentionCall& call,
                             Dim queries, Dim keys, int64_t added) {
  std::vector<Tensor> masks;
  if (call.key_padding_mask) {
    masks.push_back(call.key_padding_mask[{ellipsis, new_axis, new_axis, Slice{}}]);
  }
  if (call.attn_mask) masks.push_back(mask_by_heads(call.attn_mask, layer.num_heads));
  if (call.is_causal) masks.push_back(~causal_mask(queries, keys));
  for (Tensor& mask : masks) {
    if (added > 0) mask = pad_zeros(mask, -1, 0, added);
    if (is_boolean(mask.dtype())) mask = ~mask;
  }
  return masks;
}

void check_ranks(const Three& x) {
  const size_t rank = x[0].rank();
  if ((rank == 2 || rank == 3) && x[1].rank() == rank && x[2].rank() == rank) return;
  throw ShapeError(
      "query, key and value have {}, {} and {} dimensions, expected 3 of each, or 2 without a "
      "batch",
      rank, x[1].rank(), x[2].rank());
}

}  // namespace

MultiheadAttention MultiheadAttention::init(const Tensor& key, int64_t embed_dim, int64_t num_heads,
                                            const MultiheadAttentionOptions& options) {
  const Call call("nn::MultiheadAttention");
  check_options(embed_dim, num_heads, options);
  const Tensor keys = keys_of(key, 6);
  const auto [dropout, bias, add_bias_kv, add_zero_attn, kdim, vdim, batch_first, dtype] = options;
  MultiheadAttention made{
      .out_proj = Linear::init(keys[3], embed_dim, embed_dim, {.bias = bias, .dtype = dtype}),
      .embed_dim = embed_dim,
      .num_heads = num_heads,
      .dropout = dropout,
      .add_zero_attn = add_zero_attn,
      .batch_first = batch_first};
  const int64_t key_width = kdim.value_or(embed_dim), value_width = vdim.value_or(embed_dim);
  if (key_width == embed_dim && value_width == embed_dim) {
    made.in_proj_weight = xavier_uniform(keys[0], {3 * embed_dim, embed_dim}, 1, dtype);
  } else {
    made.q_proj_weight = xavier_uniform(keys[0], {embed_dim, embed_dim}, 1, dtype);
    made.k_proj_weight = xavier_uniform(keys[1], {embed_dim, key_width}, 1, dtype);
    made.v_proj_weight = xavier_uniform(keys[2], {embed_dim, value_width}, 1, dtype);
  }
  if (bias) {
    made.in_proj_bias = zeros({3 * embed_dim}, dtype);
    made.out_proj.bias = zeros({embed_dim}, dtype);
  }
  if (add_bias_kv) {
    made.bias_k = xavier_normal(keys[4], {1, 1, embed_dim}, 1, dtype);
    made.bias_v = xavier_normal(keys[5], {1, 1, embed_dim}, 1, dtype);
  }
  return made;
}

MultiheadAttentionResult MultiheadAttention::operator()(const Tensor& query, const Tensor& key,
                                                        const Tensor& value,
                                                        const MultiheadAttentionCall& given) const {
  const Call call("nn::MultiheadAttention", query, key, value);
  check_ranks({query, key, value});
  const bool has_batch = query.rank() == 3;
  const auto batch_in_front = [&](const Tensor& x) {
    return !has_batch ? expand_dims(x, 0) : batch_first ? x : swapaxes(x, 0, 1);
  };
  const auto [queries, keys, values] = projected(*this, {query, key, value});
  const Tensor q = by_heads(batch_in_front(queries), num_heads);
  Tensor k = by_heads(with_one_more(batch_in_front(keys), bias_k), num_heads);
  Tensor v = by_heads(with_one_more(batch_in_front(values), bias_v), num_heads);
  if (add_zero_attn) {
    k = pad_zeros(k, -2, 0, 1);
    v = pad_zeros(v, -2, 0, 1);
  }
  const Dim length = keys.shape(has_batch && !batch_first ? 0 : -2);
  check_padding(given.key_padding_mask, q.shape(0), length, has_batch);
  expect_mask("attn_mask", given.attn_mask);
  const int64_t added = (bias_k ? 1 : 0) + (add_zero_attn ? 1 : 0);
  Attended seen = attended(q, k, v,
                           {.masks = masks_of(*this, given, q.shape(-2), length, added),
                            .drop = {dropout, training},
                            .key = given.key,
                            .needs_weights = given.need_weights});
  Tensor output = out_proj(from_heads(seen.values));
  output = !has_batch ? output[0] : batch_first ? output : swapaxes(output, 0, 1);
  if (!given.need_weights) return {.output = output, .weights = {}};
  Tensor weights = *seen.weights;
  if (given.average_attn_weights) weights = mean(weights, -3);
  return {.output = output, .weights = has_batch ? weights : weights[0]};
}

}  // namespace plait::nn
