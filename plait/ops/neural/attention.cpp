#include "plait/ops/neural/attention.h"

#include <array>
#include <cmath>
#include <limits>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/products/linear.h"

namespace plait {
namespace {

constexpr double kMasked = -std::numeric_limits<double>::infinity();

void check_attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  const bool fits = q.rank() >= 2 && k.rank() >= 2 && v.rank() >= 2 &&
                    !differ(q.shape(-1), k.shape(-1)) && !differ(k.shape(-2), v.shape(-2));
  if (fits) return;
  throw ShapeError("scaled_dot_product_attention: queries {}, keys {}, values {}", q.type().text(),
                   k.type().text(), v.type().text())
      .at(Location::of_caller())
      .hint("queries and keys must have the same width, keys and values the same length");
}

// The number of heads of q per head of k; 1 if no grouping is needed.
int64_t sharing(const Tensor& q, const Tensor& k, const Tensor& v) {
  if (q.rank() < 3 || k.rank() < 3 || v.rank() < 3) return 1;
  const Dim heads = q.shape(-3), shared = k.shape(-3);
  if (same(heads, shared) || !heads.is_number() || !shared.is_number() || shared.number() <= 1 ||
      heads.number() <= 1) {
    return 1;
  }
  if (heads.number() % shared.number() != 0 || !same(v.shape(-3), shared)) {
    throw ShapeError(
        "scaled_dot_product_attention: {} heads of queries for {} of keys and {} of values", heads,
        shared, v.shape(-3))
        .at(Location::of_caller())
        .hint("the number of query heads must be a multiple of that of keys and values");
  }
  return heads.number() / shared.number();
}

// [..., heads, queries, last] with other sizes for the heads and the queries.
Shape with_heads(const Tensor& x, std::span<const Dim> sizes) {
  Shape shape(x.shape().dims().first(x.rank() - 3));
  for (const Dim size : sizes) shape.append(size);
  shape.append(x.shape(-1));
  return shape;
}

// Queries whose heads are in groups, each of which shares a head of keys: one more dimension, along
// which keys are broadcast. A single query instead makes the heads of a group rows of one product.
Tensor in_groups(const Tensor& queries, Dim shared_heads, int64_t group) {
  const Dim length = queries.shape(-2);
  const Dim sizes[] = {shared_heads, group, length};
  const bool is_single = same(length, Dim(1));
  return reshape(queries, with_heads(queries, std::span(sizes).first(is_single ? 2 : 3)));
}

// The shape of scores or results as the user knows it: [..., heads, queries, last].
Shape without_groups(const Tensor& x, const Tensor& q) {
  const bool is_single = same(q.shape(-2), Dim(1));
  Shape shape(x.shape().dims().first(x.rank() - (is_single ? 3 : 4)));
  for (const Dim size : {q.shape(-3), q.shape(-2), x.shape(-1)}) shape.append(size);
  return shape;
}

// `shape`: of the scores as the user knows it; their own may have other dimensions.
Tensor masked(Tensor scores, const Shape& shape, Dim queries, const AttentionOptions& options) {
  if (options.attn_mask) {
    const DType given = options.attn_mask.dtype();
    if (!is_boolean(given) && !is_floating(given)) {
      throw TypeError(
          "scaled_dot_product_attention: the mask is {}, expected bool, or floating numbers that "
          "are added to the scores",
          options.attn_mask.type().text())
          .at(Location::of_caller())
          .hint("mask != 0 is boolean");
    }
    const Tensor mask =
        reshape(broadcast_to_shape("mask", options.attn_mask, shape), scores.shape());
    scores = is_boolean(mask.dtype()) ? where(mask, scores, kMasked)
                                      : scores + astype(mask, scores.dtype());
  }
  if (options.is_causal) {
    const Tensor query = expand_dims(iota(queries), 1);
    scores = where(less_equal(iota(scores.shape(-1)), query), scores, kMasked);
  }
  return scores;
}

void check_rope(const Tensor& x, const RopeOptions& options) {
  if (!kReals.contains(x.dtype())) {
    throw TypeError("rope: x is {}, expected real numbers", x.type().text())
        .at(Location::of_caller());
  }
  if (x.rank() < 2) {
    throw ShapeError("rope: x is {}, expected [..., length, width]", x.type().text())
        .at(Location::of_caller());
  }
  if (!(options.base > 0)) {
    throw ValueError("rope: the base is {}, expected more than 0", options.base)
        .at(Location::of_caller());
  }
  expect_number("scale", options.scale);
  if (options.positions && !kReals.contains(options.positions.dtype())) {
    throw TypeError("rope: the positions are {}, expected real numbers",
                    options.positions.type().text())
        .at(Location::of_caller());
  }
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options) {
  const Call call("scaled_dot_product_attention", q, k, v);
  check_attention(q, k, v);
  if (options.scale) expect_number("scale", *options.scale);
  const DType given[] = {q.dtype(), k.dtype(), v.dtype()};
  const DType dtype = inexact(promote(given));
  if (is_complex(dtype)) {
    throw TypeError("scaled_dot_product_attention: an operand is {}, expected real numbers",
                    name_of(dtype))
        .at(Location::of_caller());
  }
  const int64_t group = sharing(q, k, v);
  const auto brought = [&](const Tensor& x) { return astype(x, computed(dtype)); };
  const Tensor scale = options.scale ? Operand(*options.scale).as(computed(dtype))
                                     : rsqrt(Operand(q.shape(-1)).as(computed(dtype)));
  Tensor queries = brought(q) * scale, keys = brought(k), values = brought(v);
  if (group > 1) {
    queries = in_groups(queries, k.shape(-3), group);
    if (queries.rank() > q.rank()) keys = expand_dims(keys, -3), values = expand_dims(values, -3);
  }
  const Tensor scores = matmul(queries, matrix_transpose(keys));
  const Shape shape = group > 1 ? without_groups(scores, q) : scores.shape();
  const Tensor weights = masked_softmax(masked(scores, shape, q.shape(-2), options), -1);
  Tensor result = matmul(weights, values);
  if (group > 1) result = reshape(result, without_groups(result, q));
  return astype(result, dtype);
}

Tensor rope(const Tensor& x, const RopeOptions& options) {
  const Call call("rope", x);
  check_rope(x, options);
  const Dim whole = x.shape(-1), width = options.width ? Dim(*options.width) : whole;
  const bool is_known = width.is_number() && whole.is_number();
  if (is_known &&
      (width.number() % 2 != 0 || width.number() < 0 || width.number() > whole.number())) {
    throw ValueError("rope: {} of {} are not pairs to rotate", width, x.type().text())
        .at(Location::of_caller());
  }
  const Dim half = floor_div(width, 2);
  const Tensor counted = iota(half);
  const Tensor exponents = astype(counted, DType::f64) * (-2 * std::log(options.base)) / width;
  const Shape rows(x.shape().dims().first(x.rank() - 1));
  const Tensor given = options.positions ? broadcast_to_shape("positions", options.positions, rows)
                                         : iota(x.shape(-2));
  const Tensor positions = astype(given + options.offset, DType::f64) * options.scale;
  const Tensor angles = expand_dims(positions, -1) * exp(exponents);
  const DType dtype = inexact(x.dtype());
  const Tensor cosine = astype(cos(angles), computed(dtype));
  const Tensor sine = astype(sin(angles), computed(dtype));

  Tensor turned = astype(x, computed(dtype));
  if (!same(width, whole)) turned = slice(turned, -1, {.stop = *options.width});
  const Shape shape = turned.shape();
  Shape pairs(shape.dims().first(shape.rank() - 1));
  pairs.append(options.is_interleaved ? half : Dim(2));
  pairs.append(options.is_interleaved ? Dim(2) : half);
  const int64_t axis = options.is_interleaved ? -1 : -2;
  const Tensor paired = reshape(turned, pairs);
  const Tensor first = squeeze(slice(paired, axis, {.start = 0, .stop = 1}), axis);
  const Tensor second = squeeze(slice(paired, axis, {.start = 1, .stop = 2}), axis);
  const Tensor both[] = {first * cosine - second * sine, second * cosine + first * sine};
  turned = astype(reshape(stack(both, axis), shape), dtype);
  if (same(width, whole)) return turned;
  const Tensor parts[] = {turned, slice(astype(x, dtype), -1, {.start = *options.width})};
  return concat(parts, -1);
}

}  // namespace plait
