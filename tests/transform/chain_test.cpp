// Derivatives of a chain of 200,000 operations: no deep stack, and linear work. Work is counted in
// heap allocations, steps and instructions, which are the same on every run.

#include <gtest/gtest.h>

#include "plait/ir/analysis/verify.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/programs.h"

#include "tests/support/counted_allocations.h"
#include "tests/support/small_stack.h"
#include "tests/transform/transform_support.h"

namespace plait {
namespace {

#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kMany = 20'000;
constexpr size_t kStack = 1024 * 1024;  // sanitizers have larger frames
#else
constexpr int kMany = 200'000;
constexpr size_t kStack = 256 * 1024;
#endif

Tensor one() { return full({}, 1, DType::f64); }

// x^(length + 1), by repeated multiplication: x is used `length` times.
struct Chain {
  int length;
  Tensor operator()(const Tensor& x) const {
    Tensor y = x;
    for (int i = 0; i < length; ++i) y = y * x;
    return y;
  }
};

struct Work {
  int64_t allocations = 0, nodes = 0;
};
Work work_of(const std::function<void()>& work) {
  const uint64_t node = new_node()->number;
  const int64_t before = allocations_so_far();
  on_small_stack(work, kStack);
  return {allocations_so_far() - before, static_cast<int64_t>(new_node()->number - node)};
}

// Four times the size may take 4.2 times the work, plus a constant.
void expect_linear(const char* what, const std::function<void(int length)>& work,
                   int length = kMany) {
  work(1000);  // excludes one-time initialisation
  const Work few = work_of([&] { work(length / 4); }), many = work_of([&] { work(length); });
  EXPECT_LE(many.allocations, 4.2 * static_cast<double>(few.allocations) + 2000) << what;
  EXPECT_LE(many.nodes, 4.2 * static_cast<double>(few.nodes) + 100) << what;
  EXPECT_LE(many.allocations, 150 * length) << what;
}

TEST(LongChain, DifferentiatesEagerly) {
  const auto expect = [](double found, int length) { ASSERT_EQ(found, length + 1); };
  expect_linear("grad", [&](int n) { expect(value_of(grad(Chain{n})(one())), n); });
  expect_linear("jvp", [&](int n) {
    expect(value_of(jvp(Chain{n}, std::tuple(one()), std::tuple(one())).second), n);
  });
  expect_linear("linearize",
                [&](int n) { expect(value_of(linearize(Chain{n}, one()).second(one())), n); });
  expect_linear("backward", [&](int n) {
    const Tensor x = one().requires_grad();
    Chain{n}(x).backward();
    expect(value_of(x.grad()), n);
  });
}

TEST(LongChain, DifferentiatesTwice) {
  const auto work = [](int n) {
    const auto both = jvp(grad(Chain{n}), std::tuple(one()), std::tuple(one()));
    const double length = n;
    ASSERT_EQ(value_of(both.second), (length + 1) * length);
  };
  expect_linear("forward over reverse", work, kMany / 4);
}

ir::Program traced_chain(int length) { return trace(Chain{length})(one()).program; }

TEST(LongChain, DifferentiatesAsAProgram) {
  expect_linear("the program's grad", [](int n) {
    const ir::Program gradient = grad(traced_chain(n), {0});
    ir::verify(gradient);
    ASSERT_EQ(value_of(evaluate(gradient, {{one()}}).at(0)), n + 1);
  });
  const auto recorded = [](int n) {
    const ir::Program gradient = trace(grad(Chain{n}))(one()).program;
    ASSERT_EQ(value_of(evaluate(gradient, {{one()}}).at(0)), n + 1);
  };
  expect_linear("grad recorded", recorded, kMany / 4);
  const auto forward = [](int n) {
    const std::vector<Tensor> found = evaluate(jvp(traced_chain(n)), {{one(), one()}});
    ASSERT_EQ(value_of(found.at(1)), n + 1);
  };
  expect_linear("the program's jvp", forward, kMany / 4);
  const auto both_ways = [](int n) {
    const ForwardAndBackward both = vjp(traced_chain(n));
    std::vector<Tensor> given = evaluate(both.forward, {{one()}});
    given[0] = one();
    ASSERT_EQ(value_of(evaluate(both.backward, given).at(0)), n + 1);
  };
  expect_linear("the program's vjp", both_ways, kMany / 4);
}

// One product in the forward pass; two products and an addition in the backward pass.
TEST(LongChain, AddsAFewInstructionsForEach) {
  const auto size_of = [](int length) {
    return static_cast<int64_t>(grad(traced_chain(length), {0}).entry().size());
  };
  const int64_t few = size_of(1000), many = size_of(2000);
  EXPECT_LE(many - few, 4 * 1000);
  EXPECT_EQ(size_of(3000) - many, many - few);
}

}  // namespace
}  // namespace plait
