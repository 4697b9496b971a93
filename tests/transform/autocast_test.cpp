// The operations that autocast narrows and widens, with derivatives, in traces and in programs.
#include "plait/transform/autocast.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/register_all.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/derivatives/grad.h"

namespace plait {
namespace {

const Tensor kX = astype(reshape(arange(0., 6.), {2, 3}), DType::f32) * 0.37;
const Tensor kW = astype(reshape(arange(0., 12.), {3, 4}), DType::f32) * 0.21;

TEST(Autocast, NarrowsProductsAndWidensSums) {
  const Autocast scope;
  const Tensor product = matmul(kX, kW);
  EXPECT_EQ(product.dtype(), DType::bf16);
  EXPECT_EQ(exp(product).dtype(), DType::f32);
  EXPECT_EQ(sum(product).dtype(), DType::f32);
  EXPECT_EQ(softmax(product).dtype(), DType::bf16);  // computed in f32 internally
  EXPECT_EQ(tanh(product).dtype(), DType::bf16);
  EXPECT_EQ((product + product).dtype(), DType::bf16);
  EXPECT_EQ((product + 1.F).dtype(), DType::bf16);
  EXPECT_EQ((product + kX[{0, 0}]).dtype(), DType::f32);
  EXPECT_EQ(matmul(astype(kX, DType::f64), astype(kW, DType::f64)).dtype(), DType::f64);
}

TEST(Autocast, EndsWithItsScope) {
  {
    const Autocast scope({.dtype = DType::f16});
    EXPECT_EQ(matmul(kX, kW).dtype(), DType::f16);
  }
  EXPECT_EQ(matmul(kX, kW).dtype(), DType::f32);
  EXPECT_THROW(Autocast({.dtype = DType::f32}), TypeError);
}

TEST(Autocast, TheListsAreTheUsersToChoose) {
  const Autocast scope({.narrow = {"tanh"}, .wide = {}});
  EXPECT_EQ(matmul(kX, kW).dtype(), DType::f32);
  EXPECT_EQ(tanh(kX).dtype(), DType::bf16);
  EXPECT_EQ(exp(tanh(kX)).dtype(), DType::bf16);
}

Tensor softmax_loss(const Tensor& w, const Tensor& x) { return sum(square(softmax(matmul(x, w)))); }

TEST(Autocast, GradientsHaveTheDtypeOfTheParameters) {
  const auto fast = autocast(softmax_loss);
  const auto [loss, gradient] = value_and_grad(fast)(kW, kX);
  const Tensor wanted = grad(softmax_loss)(kW, kX);
  EXPECT_EQ(loss.dtype(), DType::f32);
  EXPECT_EQ(gradient.dtype(), DType::f32);
  EXPECT_TRUE(all(absolute(gradient - wanted) < 0.02).item<bool>());
  EXPECT_FALSE(all(equal(gradient, wanted)).item<bool>());
  EXPECT_EQ(autocast(grad(softmax_loss))(kW, kX).dtype(), DType::f32);
}

TEST(Autocast, ACastOfTheUsersOwnRounds) {
  const Tensor fine = full({}, 1.0 + 1e-3, DType::f32);
  const auto rounded = [](const Tensor& x) { return astype(astype(x, DType::bf16), DType::f32); };
  EXPECT_EQ(autocast(rounded)(fine).item<float>(), 1.0F);
  const TracedProgram traced = trace(autocast(rounded))(fine);
  EXPECT_EQ(evaluate(traced.program, {{fine}}).at(0).item<float>(), 1.0F);
}

TEST(Autocast, OfATraceAndOfAProgram) {
  const TracedProgram plain = trace(softmax_loss)(kW, kX);
  const TracedProgram traced = trace(autocast(softmax_loss))(kW, kX);
  const ir::Program narrow = autocast(plain.program);
  EXPECT_NE(narrow.text().find("bf16"), std::string::npos);
  const Tensor given[] = {kW, kX};
  const Tensor eager = autocast(softmax_loss)(kW, kX);
  EXPECT_EQ(evaluate(traced.program, given).at(0).text(), eager.text());
  // The softmax of the plain program has f32 operands and results; the function's rounds to the
  // dtype of its operand.
  EXPECT_NEAR(evaluate(narrow, given).at(0).item<double>(), eager.item<double>(), 0.01);
  EXPECT_EQ(narrow.entry().signature().results[0].text(), "f32[]");
}

TEST(Autocast, CalleesKeepTheirTypes) {
  register_all();
  const ir::Program program = ir::Program::parse(R"(
func @main(%x: f32[2, 3], %w: f32[3, 4], %b: f32[2, 4]) -> (f32[2, 4]) {
  %0 = matmul %x, %w
  %1 = call @shifted(%0, %b)
  return %1
}
func @shifted(%y: f32[2, 4], %b: f32[2, 4]) -> (f32[2, 4]) {
  %0 = add %y, %b
  return %0
})");
  const Tensor given[] = {kX, kW, ones({2, 4})};
  const Tensor found = evaluate(autocast(program), given).at(0);
  EXPECT_EQ(found.dtype(), DType::f32);
  EXPECT_TRUE(all(absolute(found - evaluate(program, given).at(0)) < 0.1).item<bool>());
}

TEST(LossScale, LeavesOutStepsThatOverflow) {
  LossScale scale(1024, 2);
  const Tensor loss = full({}, 0.5, DType::f32);
  EXPECT_EQ(scale.scaled(loss).item<float>(), 512);
  const Tensor good = full({2}, 1024., DType::f32);
  EXPECT_EQ((*scale.unscaled(good)).text(), "[1. 1.] : f32[2]");
  const Tensor bad = full({2}, std::numeric_limits<double>::infinity(), DType::f32);
  EXPECT_FALSE(scale.unscaled(bad).has_value());
  EXPECT_EQ(scale.scale(), 512);
  EXPECT_TRUE(scale.unscaled(good).has_value());
  EXPECT_TRUE(scale.unscaled(good).has_value());
  EXPECT_EQ(scale.scale(), 1024);
}

}  // namespace
}  // namespace plait
