// What tests of named axes share.
#pragma once

#include <utility>

#include <gtest/gtest.h>

#include "plait/ops/create.h"
#include "plait/ops/elementwise.h"
#include "plait/ops/reduce.h"
#include "plait/ops/shape.h"
#include "plait/transform/vmap.h"

namespace plait {

inline Tensor numbers(const Shape& shape, double first) {
  const auto count = shape.element_count().number();
  return sin(reshape(astype(arange(count), DType::f64), shape) * 0.7 + first);
}

inline void expect_alike(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(found.type(), expected.type());
  EXPECT_LT(max(absolute(found - expected)).item<double>(), 1e-10)
      << found.text() << expected.text();
}

template <class F>
auto along_batch(F f) {
  return vmap(std::move(f), {.name = "batch"});
}

}  // namespace plait
