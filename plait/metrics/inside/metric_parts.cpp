#include "plait/metrics/inside/metric_parts.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"

namespace plait::metrics {

Tensor exact(const Tensor& x) { return astype(stop_gradient(x), DType::f64); }

Tensor quotient(const Tensor& numerator, const Tensor& denominator) {
  return astype(numerator, DType::f64) / astype(denominator, DType::f64);
}

Tensor quotient_or_0(const Tensor& numerator, const Tensor& denominator) {
  const Tensor is_0 = denominator == 0;
  return where(is_0, 0., quotient(numerator, where(is_0, 1, denominator)));
}

Tensor counted(const Tensor& mask, const Shape& shape) {
  if (!mask) return full(shape, true, DType::boolean);
  if (mask.dtype() != DType::boolean) {
    throw TypeError("the mask is {}, expected bool", mask.type().text())
        .at(Location::of_caller())
        .hint("mask != 0");
  }
  const Shape given = mask.shape();
  bool fits = given.rank() <= shape.rank();
  for (size_t i = 0; fits && i < given.rank(); ++i) fits = given[i] == shape[i];
  if (!fits) {
    throw ShapeError("the mask is {}, expected {}, or its first sizes", given.text(), shape.text())
        .at(Location::of_caller());
  }
  Shape wide = given;
  while (wide.rank() < shape.rank()) wide.append(1);
  return broadcast_to(reshape(mask, wide), shape);
}

void expect_alike(const Tensor& predictions, const Tensor& targets) {
  if (predictions.shape() == targets.shape()) return;
  throw ShapeError("the predictions are {} and the targets {}, expected the same sizes",
                   predictions.type().text(), targets.type().text())
      .at(Location::of_caller());
}

void expect_same_options(const TreeKey& a, const TreeKey& b) {
  if (a == b) return;
  throw ValueError("metrics: two metrics of different options do not merge")
      .at(Location::of_caller())
      .hint("make both with the same options");
}

}  // namespace plait::metrics
