// The derivative of dropout uses the same mask.
#include <gtest/gtest.h>

#include "plait/ops/arrays/create.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/neural/dropout.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/transform/derivatives/grad.h"

namespace plait {
namespace {

TEST(Dropout, HasADerivativeWhereItKeeps) {
  const Tensor x = linspace(1, 2, 200, DType::f64), weight = linspace(-1, 3, 200, DType::f64);
  const Tensor key = random::key(11);
  const auto loss = [&](const Tensor& x) { return sum(weight * dropout(x, 0.4, key)); };
  const Tensor gradient = grad(loss)(x);
  const Tensor kept = dropout(x, 0.4, key) != 0;
  EXPECT_TRUE(all(kept == (gradient != 0)).item<bool>());
  EXPECT_LT(max(absolute(gradient - where(kept, weight / 0.6, 0))).item<double>(), 1e-15);
  const Tensor none = grad([&](const Tensor& x) { return sum(dropout(x, 1, key)); })(x);
  EXPECT_EQ(max(absolute(none)).item<double>(), 0);
}

}  // namespace
}  // namespace plait
