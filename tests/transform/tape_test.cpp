// requires_grad and backward, nested tapes, and both within functions that are differentiated.
#include "plait/transform/derivatives/tape.h"

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/memory/memory.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/derivatives/grad.h"

#include "tests/transform/transform_support.h"

namespace plait {
namespace {

TEST(Backward, FillsInGradients) {
  const Tensor x = tensor({1., 2., 3.}).requires_grad();
  const Tensor y = tensor({4., 5., 6.});
  const Tensor loss = sum(x * y * x);
  EXPECT_FALSE(x.grad());
  loss.backward();
  EXPECT_EQ(x.grad().text(), "[ 8. 20. 36.] : f64[3]");
  EXPECT_FALSE(x.grad().derivation());
  EXPECT_FALSE(y.grad());
}

TEST(Backward, AddsUpUntilItIsCleared) {
  const Tensor x = number(3).requires_grad();
  (x * x).backward();
  (x * 2).backward();
  EXPECT_EQ(value_of(x.grad()), 8);
  x.zero_grad();
  EXPECT_FALSE(x.grad());
  (x * x * x).backward(number(10));
  EXPECT_EQ(value_of(x.grad()), 270);
}

TEST(Backward, AnAssignedGradientTakesThePlaceOfTheOld) {
  const Tensor x = tensor({1., 2.}).requires_grad();
  sum(x * x).backward();
  x.set_grad(x.grad() * 10);
  EXPECT_EQ(x.grad().text(), "[20. 40.] : f64[2]");
  sum(x).backward();
  EXPECT_EQ(x.grad().text(), "[21. 41.] : f64[2]");
  EXPECT_THROW(x.set_grad(tensor({1., 2., 3.})), ShapeError);
  EXPECT_THROW(x.set_grad(tensor({1, 2})), ShapeError);
  EXPECT_THROW(tensor({1., 2.}).set_grad(tensor({1., 2.})), ValueError);
}

TEST(Backward, GoesOnlyOnceUnlessTold) {
  const Tensor x = number(3).requires_grad();
  const Tensor y = x * x;
  y.backward({.keep = true});
  y.backward();
  EXPECT_EQ(value_of(x.grad()), 12);
  EXPECT_THROW(y.backward(), ValueError);
}

TEST(Backward, CanBeDifferentiated) {
  const Tensor x = number(3).requires_grad();
  (x * x * x).backward({.create_graph = true});
  const Tensor first = x.grad();
  EXPECT_EQ(value_of(first), 27);
  x.zero_grad();
  first.backward();
  EXPECT_EQ(value_of(x.grad()), 18);
}

TEST(Backward, RefusesWhatHasNoGradient) {
  EXPECT_THROW(tensor({1, 2}).requires_grad(), TypeError);
  EXPECT_THROW(number(1).backward(), ValueError);
  const Tensor x = tensor({1., 2.}).requires_grad();
  EXPECT_THROW((x * 2).backward(), ShapeError);
  EXPECT_THROW((x * 2).backward(number(1)), ShapeError);
  EXPECT_THROW(sum(x.detach()).backward(), ValueError);
  EXPECT_THROW(no_grad([&] { return sum(x * 2); }).backward(), ValueError);
}

TEST(Backward, HooksSeeAndReplaceCotangents) {
  const Tensor x = number(3).requires_grad();
  const Tensor y = x * x;
  double seen = 0;
  const uint64_t first = register_hook(y, [&](const Tensor& cotangent) {
    seen = value_of(cotangent);
    return Tensor();
  });
  register_hook(y, [](const Tensor& cotangent) { return 10 * cotangent; });
  (y * 2).backward({.keep = true});
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(value_of(x.grad()), 120);
  remove_hook(y, first);
  seen = 0;
  (y * 2).backward();
  EXPECT_EQ(seen, 0);
}

TEST(Backward, HooksReplaceCotangentsByTheirLike) {
  const Tensor x = number(3).requires_grad();
  const Tensor y = x * x;
  register_hook(y, [](const Tensor&) { return ones({9}); });
  EXPECT_THROW(y.backward(), TypeError);
}

TEST(Backward, ReleasesMemoryImmediately) {
  const Sizes sizes{1 << 16};
  const Tensor x = full(Shape::of_sizes(sizes), 2, DType::f64).requires_grad();
  const int64_t before = memory_statistics().live_bytes;
  Tensor loss = sum(exp(exp(exp(x * 0.1))));
  EXPECT_GT(memory_statistics().live_bytes, before + 2 * 8 * (1 << 16));
  loss.backward();
  loss = Tensor();
  x.zero_grad();
  EXPECT_EQ(memory_statistics().live_bytes, before);
  Tensor other = sum(exp(exp(x)));
  other = Tensor();
  EXPECT_EQ(memory_statistics().live_bytes, before);
}

TEST(Gradient, ByAnythingOnTheWay) {
  const Tensor x = number(3).requires_grad();
  const Tensor y = x * x;
  const Tensor z = y * x;
  const std::vector<Tensor> both = gradient(z, {{x, y}}, {}, {.keep = true});
  EXPECT_EQ(value_of(both[0]), 27);
  EXPECT_EQ(value_of(both[1]), 3);
  EXPECT_FALSE(x.grad());
  EXPECT_EQ(value_of(gradient(z, x, {}, {.keep = true, .stop_at = {y}})), 9);
  const Tensor apart = number(1).requires_grad();
  EXPECT_THROW(gradient(z, apart, {}, {.keep = true}), ValueError);
  EXPECT_FALSE(gradient(z, apart, {}, {.allow_unused = true}));
}

TEST(Gradient, OfAGradient) {
  const Tensor x = number(3).requires_grad();
  const Tensor first = gradient(x * x * x, x, {}, {.create_graph = true});
  const Tensor second = gradient(first, x, {}, {.create_graph = true});
  EXPECT_EQ(value_of(first), 27);
  EXPECT_EQ(value_of(second), 18);
  EXPECT_EQ(value_of(gradient(second, x)), 6);
}

TEST(TapeHabit, TapesNest) {
  Tape outer, middle, inner;
  const Tensor x = inner.watch(middle.watch(outer.watch(number(3))));
  const Tensor first = inner.gradient(x * x * x, x);
  const Tensor second = middle.gradient(first, x);
  EXPECT_EQ(value_of(first), 27);
  EXPECT_EQ(value_of(second), 18);
  EXPECT_EQ(value_of(outer.gradient(second, x)), 6);
}

TEST(TapeHabit, OneThatPersistsIsAskedAgain) {
  Tape tape({.persistent = true});
  const Tensor x = tape.watch(number(3));
  const Tensor y = x * x;
  EXPECT_EQ(value_of(tape.gradient(y * y, x)), 108);
  EXPECT_EQ(value_of(tape.gradient(y, x)), 6);
  Tape once;
  const Tensor z = once.watch(number(3));
  const Tensor square = z * z;
  once.gradient(square, z);
  EXPECT_THROW(once.gradient(square, z), ValueError);
}

// f(x) = d/dw (w²·x) at w = 5, by a tape inside.
Tensor by_tape_inside(const Tensor& x) {
  const Tensor w = number(5).requires_grad();
  (w * w * x).backward();
  return w.grad();
}

TEST(Habits, ATapeInsideAFunction) {
  EXPECT_EQ(value_of(by_tape_inside(number(3))), 30);
  EXPECT_EQ(value_of(grad([](Tensor x) { return by_tape_inside(x * x); })(number(3))), 60);
  const auto [value, tangent] =
      jvp([](Tensor x) { return by_tape_inside(x); }, std::tuple(number(3)), std::tuple(number(1)));
  EXPECT_EQ(value_of(value), 30);
  EXPECT_EQ(value_of(tangent), 10);
}

TEST(Habits, ATapeAroundAFunction) {
  const Tensor w = number(2).requires_grad();
  // d/dx (w·x³) = 3·w·x², whose derivative by w is 3·x².
  const Tensor slope = grad([&](Tensor x) { return w * x * x * x; })(number(5));
  EXPECT_EQ(value_of(slope), 150);
  slope.backward();
  EXPECT_EQ(value_of(w.grad()), 75);
}

// The tape begins outside, and the gradient is taken inside.
TEST(Habits, ATapeThatAFunctionUses) {
  const Tensor w = number(2).requires_grad();
  const auto f = [&](Tensor x) { return gradient(w * w * x * x, w); };  // 2·w·x²
  EXPECT_EQ(value_of(f(number(3))), 36);
  EXPECT_EQ(value_of(grad(f)(number(3))), 24);  // 4·w·x
  EXPECT_EQ(value_of(jvp(f, std::tuple(number(3)), std::tuple(number(1))).second), 24);
  EXPECT_EQ(value_of(grad(grad(f))(number(3))), 8);
}

TEST(Habits, ATapeInATrace) {
  const TracedProgram traced = trace(by_tape_inside)(number(3));
  EXPECT_EQ(value_of(evaluate(traced.program, {{number(7)}}).at(0)), 70);
  const Tensor w = number(2).requires_grad();
  const TracedProgram other = trace([&](Tensor x) { return w * x; })(number(3));
  ASSERT_EQ(other.hidden_inputs.size(), 1u);
}

}  // namespace
}  // namespace plait
