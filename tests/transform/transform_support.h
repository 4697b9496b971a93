// Helpers for tests of transforms.
#pragma once

#include <functional>
#include <string_view>
#include <tuple>

#include <gtest/gtest.h>

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/transform/derivatives/grad.h"

namespace plait {

inline Tensor number(double value) { return full({}, value, DType::f64); }
inline double value_of(const Tensor& x) { return x.item<double>(); }

inline Tensor numbers(const Shape& shape, double first) {
  const auto count = shape.element_count().number();
  return sin(reshape(astype(arange(count), DType::f64), shape) * 0.7 + first);
}

// Compares up to the rounding of f64 sums in another order.
inline void expect_alike(const Tensor& found, const Tensor& expected, std::string_view what = {}) {
  ASSERT_EQ(found.type(), expected.type()) << what;
  const double size = 100 + value_of(max(absolute(expected)));
  EXPECT_LT(value_of(max(absolute(found - expected))), 1e-12 * size) << what << '\n'
                                                                     << found.text() << '\n'
                                                                     << expected.text();
}

// For helpers that would otherwise be instantiated for each lambda.
using OfTensor = std::function<Tensor(Tensor)>;

// The derivative of a function of a number.
template <class F>
Tensor tangent_at(const F& f, const Tensor& x) {
  return jvp(f, std::tuple(x), std::tuple(number(1))).second;
}

// The halves of a list; if the length is odd, the last element is in neither.
inline Dim half_of(const Tensor& x) { return floor_div(x.shape(0), 2); }
inline Tensor first_half(const Tensor& x) { return slice_axis(x, 0, 0, half_of(x)); }
inline Tensor second_half(const Tensor& x) { return slice_axis(x, 0, half_of(x), half_of(x)); }

struct Pair {
  Tensor first, second;
};
struct Layer {
  Tensor weight, bias;
  Tensor operator()(const Tensor& x) const { return matmul(x, weight) + bias; }
};

}  // namespace plait
