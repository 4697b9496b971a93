#include "plait/nn/inside/attention_parts.h"

#include <limits>
#include <string>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/neural/attention.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/products/linear.h"

namespace plait::nn {
namespace {

constexpr double kMasked = -std::numeric_limits<double>::infinity();

Tensor masked(const Tensor& scores, const Tensor& mask) {
  return is_boolean(mask.dtype()) ? where(mask, scores, kMasked) : scores + mask;
}

// Several masks as one: a boolean one, or numbers to add. Empty if there are none.
Tensor joined(std::span<const Tensor> masks) {
  Tensor keep, bias;
  for (const Tensor& mask : masks) {
    if (is_boolean(mask.dtype())) {
      keep = keep ? keep & mask : mask;
    } else {
      bias = bias ? bias + mask : mask;
    }
  }
  if (!bias) return keep;
  return keep ? where(keep, bias, kMasked) : bias;
}

// The weights of keys, [..., heads, queries, keys].
Tensor weights_of_keys(const Tensor& q, const Tensor& k, const Attending& how) {
  const Tensor scale = rsqrt(Operand(q.shape(-1)).as(q.dtype()));
  Tensor scores = matmul(q * scale, matrix_transpose(k));
  std::vector<Tensor> masks = how.masks;
  if (how.is_causal) masks.push_back(causal_mask(q.shape(-2), k.shape(-2)));
  if (const Tensor mask = joined(masks)) scores = masked(scores, mask);
  return how.drop(masked_softmax(scores, -1), how.key);
}

// Keys or values for each head of the queries, which groups of them share.
Tensor for_each_head(const Tensor& x, const Tensor& q) {
  const Dim shared = x.shape(-3), heads = q.shape(-3);
  return same(shared, heads) ? x : repeat(x, floor_div(heads, shared), -3);
}

}  // namespace

Tensor causal_mask(Dim queries, Dim keys, const Operand& offset) {
  return greater_equal(expand_dims(iota(queries), 1) + offset, iota(keys));
}

void expect_mask(std::string_view name, const Tensor& mask) {
  if (!mask || is_boolean(mask.dtype()) || is_floating(mask.dtype())) return;
  throw TypeError("{} is {}, expected bool, or floating numbers that are added to the scores", name,
                  mask.type().text())
      .at(Location::of_caller())
      .hint(std::string(name) + " != 0 is boolean");
}

Attended attended(const Tensor& q, const Tensor& k, const Tensor& v, const Attending& how) {
  if (!how.needs_weights && !how.drop.is_active()) {
    return {.values = scaled_dot_product_attention(
                q, k, v, {.attn_mask = joined(how.masks), .is_causal = how.is_causal}),
            .weights = {}};
  }
  const Tensor weights = weights_of_keys(q, for_each_head(k, q), how);
  return {.values = matmul(weights, for_each_head(v, q)), .weights = weights};
}

Tensor by_heads(const Tensor& x, int64_t heads) {
  return swapaxes(unflatten(x, -1, {heads, -1}), -3, -2);
}

Tensor from_heads(const Tensor& x) {
  const Tensor rows = swapaxes(x, -3, -2);
  const Shape sizes = rows.shape();
  Shape shape(sizes.dims().first(sizes.rank() - 2));
  shape.append(sizes.at(-2) * sizes.at(-1));
  return reshape(rows, shape);
}

}  // namespace plait::nn
