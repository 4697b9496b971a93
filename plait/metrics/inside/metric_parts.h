// Helpers of metrics.
#pragma once

#include <string_view>

#include "plait/core/trees/tree.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/collectives/collective.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/tensor/tensor.h"

namespace plait::metrics {

// As f64, without derivatives.
Tensor exact(const Tensor& x);
// In f64; NaN where both are 0.
Tensor quotient(const Tensor& numerator, const Tensor& denominator);
// The numerator divided by the denominator; 0 where that is 0.
Tensor quotient_or_0(const Tensor& numerator, const Tensor& denominator);

// Which elements of this shape count: the mask, repeated along the axes that it lacks.
Tensor counted(const Tensor& mask, const Shape& shape);
// ShapeError unless predictions and targets have the same sizes.
void expect_alike(const Tensor& predictions, const Tensor& targets);

// ValueError unless two metrics, as their keys say, have the same options.
void expect_same_options(const TreeKey& a, const TreeKey& b);

// ---- Metrics whose tensors are sums over the data.

template <class Metric>
Metric sum_of_both(const Metric& a, const Metric& b) {
  expect_same_options(key_of(a), key_of(b));
  return map_leaves([](const Tensor& x, const Tensor& y) { return x + y; }, a, b);
}
template <class Metric>
Metric sum_along_axes(const Metric& metric, const AxisNames& names) {
  return map_leaves(metric, [&](const Tensor& x) { return all_reduce_sum(x, names); });
}
template <class Metric>
Metric of_no_data(const Metric& metric) {
  return map_leaves(metric, [](const Tensor& x) { return zeros_like(x); });
}

}  // namespace plait::metrics
