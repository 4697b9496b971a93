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

// Treats the heads that share keys as additional queries, and the inverse.
Tensor with_heads(const Tensor& x, Dim heads, Dim length) {
  Shape shape(x.shape().dims().first(x.rank() - 3));
  for (const Dim size : {heads, length, x.shape(-1)}) shape.append(size);
  return reshape(x, shape);
}

Tensor masked(Tensor scores, const AttentionOptions& options) {
  if (options.attn_mask) {
    if (!kOrdered.contains(options.attn_mask.dtype())) {
      throw TypeError("scaled_dot_product_attention: the mask is {}, expected bool or real numbers",
                      options.attn_mask.type().text())
          .at(Location::of_caller());
    }
    const Tensor mask = broadcast_to_shape("mask", options.attn_mask, scores.shape());
    scores = is_boolean(mask.dtype()) ? where(mask, scores, kMasked)
                                      : scores + astype(mask, scores.dtype());
  }
  if (options.is_causal) {
    const Tensor query = expand_dims(iota(scores.shape(-2)), 1);
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
  const int64_t shared = sharing(q, k, v);
  const auto brought = [&](const Tensor& x) { return astype(x, computed(dtype)); };
  const Tensor scale = options.scale ? Operand(*options.scale).as(computed(dtype))
                                     : rsqrt(Operand(q.shape(-1)).as(computed(dtype)));
  Tensor queries = brought(q) * scale;
  const Dim length = q.shape(-2);
  if (shared > 1) queries = with_heads(queries, k.shape(-3), length * shared);
  Tensor scores = matmul(queries, matrix_transpose(brought(k)));
  if (shared > 1) scores = with_heads(scores, q.shape(-3), length);
  Tensor weights = masked_softmax(masked(scores, options), -1);
  if (shared > 1) weights = with_heads(weights, k.shape(-3), length * shared);
  Tensor result = matmul(weights, brought(v));
  if (shared > 1) result = with_heads(result, q.shape(-3), length);
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
