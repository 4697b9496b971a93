// Compiled programs beside evaluated ones: what random programs seldom have.
#include "plait/compile/compiler.h"

#include <gtest/gtest.h>

#include "plait/compile/compare.h"
#include "plait/compile/kernel_compiler.h"
#include "plait/compile/pass.h"
#include "plait/core/error.h"
#include "plait/core/settings.h"
#include "plait/core/thread_team.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise.h"
#include "plait/ops/linear.h"
#include "plait/ops/loss.h"
#include "plait/ops/normalization.h"
#include "plait/ops/products.h"
#include "plait/ops/random.h"
#include "plait/ops/reduce.h"
#include "plait/ops/shape.h"
#include "plait/ops/softmax.h"
#include "plait/tensor/machine.h"
#include "plait/tensor/trace_function.h"
#include "plait/transform/grad.h"
#include "plait/transform/vjp.h"

#include "tests/compile/as_evaluated.h"
#include "tests/compile/passes_left_out.h"

namespace plait::compile {
namespace {

size_t kernels_of(const Compiled& compiled) { return compiled.plan().kernels.size(); }
size_t steps_of(const Compiled& compiled, Step::Kind kind) {
  size_t count = 0;
  for (const PlannedFunction& function : compiled.plan().functions) {
    for (const Step& step : function.steps) count += step.kind == kind ? 1 : 0;
  }
  return count;
}

// ---- Fusion.

TEST(Fusion, ANormIsOneKernel) {
  if (kernel_compiler() == nullptr) GTEST_SKIP() << "no code is generated in this build";
  const auto f = [](const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return layer_norm(x, {x.shape(-1)}, weight, bias);
  };
  const Tensor x = numbers({37, 197}, 1), weight = numbers({197}, 2), bias = numbers({197}, 3);
  const ir::Program program = trace(f)(x, weight, bias).program;
  const Compiled compiled(program);
  EXPECT_EQ(kernels_of(compiled), 1u) << compiled.plan().text();
  EXPECT_EQ(compiled.plan().functions[0].steps.size(), 1u) << compiled.plan().text();
  expect_as_evaluated(program, {x, weight, bias}, 1e-6);
}

TEST(Fusion, TheWayBackOfANormReadsOnce) {
  if (kernel_compiler() == nullptr) GTEST_SKIP() << "no code is generated in this build";
  const auto loss = [](const Tensor& x, const Tensor& weight, const Tensor& bias,
                       const Tensor& cotangent) {
    return sum(layer_norm(x, {x.shape(-1)}, weight, bias) * cotangent);
  };
  const auto gradients = [&](const Tensor& x, const Tensor& weight, const Tensor& bias,
                             const Tensor& cotangent) {
    return grad<0, 1, 2>(loss)(x, weight, bias, cotangent);
  };
  const Tensor x = numbers({64, 96}, 1), weight = numbers({96}, 2), bias = numbers({96}, 3),
               cotangent = numbers({64, 96}, 4);
  const ir::Program program = trace(gradients)(x, weight, bias, cotangent).program;
  const Compiled compiled(program);
  EXPECT_EQ(kernels_of(compiled), 1u) << compiled.plan().text();
  expect_as_evaluated(program, {x, weight, bias, cotangent}, 2e-6);
}

TEST(Fusion, SoftmaxAndItsDerivative) {
  const auto f = [](const Tensor& x, const Tensor& cotangent) {
    return std::get<0>(
        vjp([](const Tensor& given) { return softmax(given); }, x).second(cotangent));
  };
  for (const int64_t columns : {1, 7, 8, 64, 197}) {
    const Tensor x = numbers({5, 3, columns}, 1), cotangent = numbers({5, 3, columns}, 2);
    expect_as_evaluated(trace(f)(x, cotangent).program, {x, cotangent}, 2e-6);
  }
}

TEST(Fusion, EveryPassMayBeLeftOut) {
  const auto f = [](const Tensor& x, const Tensor& y) {
    return log_softmax(matmul(x, y) * 2. + sum(x, 1, true)) - mean(y);
  };
  const Tensor x = numbers({6, 8}, 1), y = numbers({8, 5}, 2);
  const ir::Program program = trace(f)(x, y).program;
  const Tensors arguments{x, y}, wanted = evaluate(program, arguments);
  for (const Pass& pass : passes()) {
    const PassesLeftOut out("-" + std::string(pass.name));
    expect_as_good_as_same(pass.name.data(), Compiled(program)(arguments), wanted, 1e-6);
  }
}

TEST(Fusion, PassesThatAreNoneAreRefused) {
  const PassesLeftOut out("-fuze");
  try {
    is_on("fuse");
    FAIL() << "was taken";
  } catch (const ValueError& error) {
    EXPECT_NE(error.message().find("`-fuze`"), std::string::npos) << error.message();
    EXPECT_NE(std::string(error.what()).find("simplify"), std::string::npos) << error.what();
  }
}

TEST(Fusion, WhatIsTransposedIsNotComputedTwice) {
  const auto f = [](const Tensor& x) {
    const Tensor y = exp(x);
    return y + matrix_transpose(y);
  };
  const Tensor x = numbers({9, 9}, 1);
  const ir::Program program = trace(f)(x).program;
  expect_as_evaluated(program, {x}, 1e-6);
}

TEST(Fusion, SumsOfRowsWithoutColumns) {
  const auto f = [](const Tensor& x) { return sum(prod(x + x, 1) * 0.25); };
  for (const Shape& shape : {Shape{2, 0}, Shape{0, 2}, Shape{3, 1}, Shape{40, 50}}) {
    const Tensor x = numbers(shape, 1);
    expect_as_evaluated(trace(f)(x).program, {x}, 1e-6);
  }
}

TEST(Fusion, EmptySizes) {
  const auto f = [](const Tensor& x) {
    return std::vector<Tensor>{sum(exp(x) * 2., 0), sum(exp(x) * 2., 1), sum(exp(x) * 2.),
                               softmax(x * 3.) + 1.};
  };
  for (const Shape& shape : {Shape{0, 4}, Shape{4, 0}, Shape{0, 0}, Shape{1, 1}}) {
    const Tensor x = numbers(shape, 1);
    expect_as_evaluated(trace(f)(x).program, {x}, 1e-6);
  }
}

TEST(Fusion, TheSameBitsWithAnyNumberOfThreads) {
  const auto f = [](const Tensor& x, const Tensor& y) {
    return std::vector<Tensor>{sum(x * y), sum(tanh(x) * y, 0), mean(x * y, 1)};
  };
  const Tensor x = numbers({700, 300}, 1), y = numbers({700, 300}, 2);
  const Compiled compiled(trace(f)(x, y).program);
  Tensors before;
  const int count = thread_count();
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    const Tensors now = compiled(Tensors{x, y});
    if (!before.empty()) expect_same_bits("other threads", now, before);
    before = now;
  }
  set_thread_count(count);
}

// ---- Plans.

TEST(Plans, ResultsSurviveLaterCalls) {
  const auto f = [](const Tensor& x) { return std::vector<Tensor>{x * 2. + 1., x, x * 3.}; };
  const Tensor x = numbers({100}, 1), y = numbers({100}, 2);
  const Compiled compiled(trace(f)(x).program);
  const Tensors first = compiled(Tensors{x});
  const Tensors kept{first[0] + 0., first[1] + 0., first[2] + 0.};
  compiled(Tensors{y});
  expect_same_bits("after another call", first, kept);
}

TEST(Plans, OneProgramForEverySize) {
  const Dim n = Dim::symbol("n");
  const auto f = [](const Tensor& x) { return softmax(x * 2.) - mean(x, 1, true); };
  const ir::Program program =
      trace(f)(abstract_tensor(ir::Type::array(DType::f32, {n, n * 2 + 1}))).program;
  const Compiled compiled(program);
  for (const int64_t size : {0, 1, 2, 5, 33, 5}) {
    const Tensor x = numbers({size, 2 * size + 1}, 1);
    expect_as_good_as_same("another size", compiled(Tensors{x}), evaluate(program, Tensors{x}),
                           1e-6);
  }
}

TEST(Plans, StridedArguments) {
  const auto f = [](const Tensor& x) { return exp(x) * 2. + sum(x, 0); };
  const Tensor x = numbers({6, 5}, 1);
  const ir::Program program = trace(f)(matrix_transpose(x)).program;
  for (const Tensor& given : {matrix_transpose(x), flip(matrix_transpose(x), 0)}) {
    expect_as_evaluated(program, {given}, 1e-6);
  }
}

TEST(Plans, ErrorsNameTheLineAndTheFunction) {
  register_all();
  const ir::Program program = ir::Program::parse(
      "func @main<n>(%x: f32[n], %i: i64[1]) -> (f32[1]) {\n"
      "  %0 = exp %x\n"
      "  %1 = gather %0, %i {axes = [0]} ; model.cpp:14\n"
      "  return %1\n"
      "}\n");
  const Compiled compiled(program);
  try {
    compiled(Tensors{numbers({3}, 1), Tensor(Array::of(std::span<const int64_t>({7}), {1}))});
    FAIL() << "the index was taken";
  } catch (const IndexError& error) {
    EXPECT_NE(std::string(error.what()).find("model.cpp:14"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("@main"), std::string::npos) << error.what();
  }
}

TEST(Plans, RecursionIsAsDeepAsMemoryAllows) {
  register_all();
  const ir::Program program = ir::Program::parse(R"(
    func @sum_to(%n: f64[]) -> (f64[]) {
      %zero = literal {value = f64[](0)} : f64[]
      %done = less_equal %n, %zero
      %0 = cond @nothing, @more(%done, %n)
      return %0
    }
    func @nothing(%n: f64[]) -> (f64[]) {
      %0 = literal {value = f64[](0)} : f64[]
      return %0
    }
    func @more(%n: f64[]) -> (f64[]) {
      %one = literal {value = f64[](1)} : f64[]
      %less = subtract %n, %one
      %rest = call @sum_to(%less)
      %0 = add %n, %rest
      return %0
    })");
  const Compiled compiled(program);
  EXPECT_EQ(compiled(Tensors{Tensor(Array::of(100000.))})[0].item<double>(), 5000050000.);
  EXPECT_GT(steps_of(compiled, Step::Kind::call), 0u);
}

// ---- Checks of programs.

TEST(Compare, FindsNothingWhereAllIsRight) {
  const auto loss = [](const Tensor& w, const Tensor& x) {
    return mean(log_softmax(matmul(tanh(matmul(x, w)), matrix_transpose(w))));
  };
  const auto f = [&](const Tensor& w, const Tensor& x) { return value_and_grad(loss)(w, x); };
  const Tensor w = numbers({8, 16}, 1), x = numbers({32, 8}, 2);
  const ir::Program program = trace(f)(w, x).program;
  for (const int64_t shift : {0, 4, 32}) {
    const auto difference = compare(program, Tensors{w, x}, {.arena = {true, shift}});
    EXPECT_FALSE(difference) << difference->text();
  }
}

}  // namespace
}  // namespace plait::compile
