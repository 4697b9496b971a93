// Invariants of each pass, in cases that are rare in random programs.
#include <gtest/gtest.h>

#include "plait/compile/inside/running/compiled_access.h"
#include "plait/compile/inside/targets/target.h"
#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/effects/print.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/control/control.h"

#include "tests/compile/as_evaluated.h"

namespace plait::compile {
namespace {

// ---- Inlining.

TEST(Inlining, ACalleeHasItsOwnSizesAndArguments) {
  const ir::Program program = parsed(R"(
    func @main<n, m>(%x: f32[n], %y: f32[m]) -> (f32[m, n], i64[]) {
      %0, %1 = call @outer<m, n>(%y, %x)
      return %0, %1
    }
    func @outer<a, b>(%x: f32[a], %y: f32[b]) -> (f32[a, b], i64[]) {
      %0 = reshape %x {sizes = [a, 1]}
      %1 = broadcast %0 {sizes = [a, b]}
      %2 = broadcast %y {sizes = [a, b]}
      %3 = subtract %1, %2
      %4 = size {value = 2*a + b}
      return %3, %4
    })");
  expect_as_evaluated(program, {numbers({3}, 1), numbers({5}, 2)}, 0);
}

TEST(Inlining, ChecksTheFactsThatACalleeRequires) {
  const ir::Program program = parsed(R"(
    func @main<n, m>(%x: f32[n], %y: f32[m]) -> (f32[n]) {
      %0 = call @twice_as_long<n, m>(%x, %y)
      return %0
    }
    func @twice_as_long<n, m>(%x: f32[n], %y: f32[m]) -> (f32[n]) where n == 2*m {
      %0 = negative %x
      return %0
    })");
  expect_as_evaluated(program, {numbers({4}, 1), numbers({2}, 2)}, 0);
  const Compiled compiled(program);
  EXPECT_THROW(compiled(Tensors{numbers({3}, 1), numbers({2}, 2)}), ShapeError);
}

// ---- Simplifying.

TEST(Simplifying, AComplexNumberTimesOneIsMultiplied) {
  const ir::Program program = parsed(R"(
    func @main(%x: c64[3]) -> (c64[3]) {
      %0 = literal {value = c64[3]((1+0j) ...)}
      %1 = multiply %x, %0
      return %1
    })");
  const std::complex<float> x[] = {{INFINITY, 0}, {-0.F, -1}, {2, 3}};
  expect_bits_as_evaluated(program,
                           {Tensor(Array::of(std::span<const std::complex<float>>(x), Sizes{3}))});
}

TEST(Simplifying, PermutationsComeOneAfterTheOther) {
  const auto f = [](const Tensor& x) {
    return permute_dims(permute_dims(x, {1, 2, 0}), {1, 0, 2}) + 1.;
  };
  const Tensor x = numbers({3, 3, 3}, 1);
  expect_as_evaluated(trace(f)(x).program, {x}, 0);
}

TEST(Simplifying, FactorsAndDivisorsOfOneChangeNothing) {
  const ir::Program program = parsed(R"(
    func @main(%x: f32[3]) -> (f32[3], f32[3], f32[3], f32[3]) {
      %one = literal {value = f32[3](1 ...)}
      %two = literal {value = f32[3](2 ...)}
      %0 = multiply %x, %one
      %1 = multiply %one, %x
      %2 = divide %x, %two
      %3 = divide %x, %one
      return %0, %1, %2, %3
    })");
  expect_as_evaluated(program, {numbers({3}, 1)}, 0);
}

TEST(Simplifying, SlicesOfOtherPlacesAreOthers) {
  const auto f = [](const Tensor& x) {
    return exp(slice_axis(x, 0, 0, 3)) - exp(slice_axis(x, 0, 2, 3));
  };
  const Tensor x = numbers({5}, 1);
  expect_as_evaluated(trace(f)(x).program, {x}, 1e-6);
}

TEST(Simplifying, EachDrawIsOneOfItsOwn) {
  const ir::Program program = parsed(R"(
    func @main() -> (key[], key[]) {
      %0 = draw_key
      %1 = draw_key
      return %0, %1
    })");
  const Tensors keys = Compiled(program)(Tensors{});
  EXPECT_THROW(expect_same_bits("keys", {keys[0]}, {keys[1]}), Disagreement);
}

// ---- Libraries.

TEST(Libraries, SumsOfProductsAreTakenAlongTheirAxes) {
  for (const Shape& shape : {Shape{3, 3, 3}, Shape{3, 3, 3, 3}}) {
    const Tensor a = numbers(shape, 1), b = numbers(shape, 2);
    std::vector<std::vector<int64_t>> all{{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}};
    for (const std::vector<int64_t>& axes : all) {
      const auto f = [&](const Tensor& x, const Tensor& y) { return sum(matmul(x, y), axes); };
      expect_as_evaluated(trace(f)(a, b).program, {a, b}, 1e-5);
    }
  }
  const auto f = [&](const Tensor& x, const Tensor& y) { return sum(matmul(x, y), 0); };
  const Tensor a = numbers({4, 3, 5}, 1), b = numbers({4, 5, 2}, 2);
  expect_as_evaluated(trace(f)(a, b).program, {a, b}, 1e-5);
}

// ---- Expanding.

TEST(Expanding, SoftmaxAlongAnyAxisOfAnyNumbers) {
  const ir::Program program = parsed(R"(
    func @main(%x: f32[4, 6]) -> (f32[4, 6], f32[4, 6], f32[4, 6], f32[4, 6], f32[4, 6]) {
      %0 = softmax %x {axis = 0}
      %1 = log_softmax %x {axis = 0}
      %2 = softmax %x {axis = 1}
      %3 = log_softmax %x {axis = 1}
      %4 = softmax %x {axis = 1, masked_is_zero = true}
      return %0, %1, %2, %3, %4
    })");
  std::vector<float> x(24);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i * 7 % 5) - 2);
  for (size_t i = 0; i < 6; ++i) x[i] = -INFINITY;  // a row
  x[7] = -INFINITY;
  x[13] = 1000;
  expect_as_evaluated(program, {Tensor(Array::of(std::span<const float>(x), Sizes{4, 6}))}, 1e-6);
}

// Its decomposition would round in between.
TEST(Expanding, KeepsReductionsOfNarrowFloatsWhole) {
  const ir::Program program = parsed(R"(
    func @main(%x: f8e4m3[3, 40]) -> (f8e4m3[3]) {
      %0 = reduce_squares %x {axes = [1]}
      return %0
    })");
  expect_bits_as_evaluated(program, {numbers({3, 40}, 1, DType::f8e4m3)});
}

// ---- Fusing and scheduling.

class Printing : public testing::Test {
 protected:
  void SetUp() override {
    set_print_sink([this](std::string_view text) { printed += std::string(text) + "\n"; });
  }
  void TearDown() override { set_print_sink({}); }

  std::string printed;
};

// The kernel is at the place of its last member.
TEST_F(Printing, StaysInItsOrder) {
  const ir::Program program = parsed(R"(
    func @main(%x: f32[], %y: f32[]) -> (f32[]) {
      %0 = exp %x
      %1 = negative %0
      print %1 {label = "first"}
      print %y {label = "second"}
      %2 = multiply %1, %0
      print %2 {label = "third"}
      return %2
    })");
  const Tensors arguments{Tensor(Array::of(0.F)), Tensor(Array::of(2.F))};
  evaluate(program, arguments);
  const std::string wanted = std::exchange(printed, "");
  EXPECT_NE(wanted.find("third"), std::string::npos) << wanted;
  const Compiled compiled(program);
  compiled(arguments);
  EXPECT_EQ(printed, wanted);
}

TEST(Fusing, WaitsForDataDependentSizes) {
  const ir::Program program = parsed(R"(
    func @main<n>(%x: i64[n], %y: f32[]) -> <k> (f32[k], i64[n], i64[n]) {
      %0 = add %x, %x
      %1 = reduce_maximum %0 {axes = [0]}
      <k> = as_size %1
      %2 = broadcast %y {sizes = [k]}
      %3 = exp %2
      %4 = multiply %3, %2
      %5 = multiply %0, %x
      %6 = negative %5
      return <k> %4, %5, %6
    })");
  const int64_t x[] = {1, 3, 2};
  expect_as_evaluated(
      program, {Tensor(Array::of(std::span<const int64_t>(x), Sizes{3})), numbers({}, 1)}, 1e-6);
}

// The kernel of %3 contains `size`, and so it needs k. If %1 were one of its members, the kernel
// would wait for itself.
TEST(Fusing, WaitsForSizesThatItsViewsAndNumbersRead) {
  const ir::Program program = parsed(R"(
    func @main(%x: i64[3], %y: i64[]) -> (i64[], i64[], i64[]) {
      %0 = multiply %y, %y
      %1 = reduce_maximum %x {axes = [0]}
      <k> = as_size %1
      %2 = size {value = k}
      %3 = add %0, %2
      %4 = multiply %2, %1
      %5 = iota {size = k}
      %6 = negative %5
      %7 = reduce_sum %6 {axes = [0]}
      return %3, %4, %7
    })");
  const int64_t x[] = {1, 3, 2};
  for (const int64_t y : {2, 5}) {
    expect_as_evaluated(
        program, {Tensor(Array::of(std::span<const int64_t>(x), Sizes{3})), Tensor(Array::of(y))},
        1e-6);
  }
}

// A chain whose middle is used by another operation must not become one kernel around it.
TEST(Fusing, NoKernelWaitsForItself) {
  const auto f = [](const Tensor& x) {
    const Tensor a = exp(x), b = a * 2.;
    const Tensor product = matmul(b, b);
    return std::vector<Tensor>{tanh(product) + a, b - matmul(product, a), a + b};
  };
  const Tensor x = numbers({4, 4}, 1);
  expect_as_evaluated(trace(f)(x).program, {x}, 1e-5);
}

// Kernels of the plan, and steps of single operations.
std::pair<size_t, size_t> kernels_and_operations(const ir::Program& program) {
  const Compiled compiled(program);
  size_t kernels = 0, operations = 0;
  for (const compile::Step& step : CompiledAccess::plan(compiled).functions[0].steps) {
    kernels += step.is<KernelStep>() ? 1 : 0;
    operations += step.is<PrimitiveStep>() ? 1 : 0;
  }
  return {kernels, operations};
}

// The kernel of the maximum has what reads it, and `half`, which its first member does not need.
TEST(Fusing, FewElementsAreOneRow) {
  register_all();
  if (find_target(Device::Kind::cpu) == nullptr) GTEST_SKIP() << "no kernels in this build";
  const auto f = [](const Tensor& x, const Tensor& h, const Tensor& time) {
    const Tensor square = x * x, half = h / 2., y = half * square;
    const Tensor fits = less(max(y), 0.01);
    return std::vector<Tensor>{where(fits, y, x), where(fits, time + h, time), y / sum(y)};
  };
  for (const Shape& shape : {Shape{16}, Shape{3, 4, 5}, Shape{4096}, Shape{1, 7}, Shape{4097}}) {
    for (const double scale : {1., 1e-3}) {
      const Tensors arguments{numbers(shape, 1) * scale, numbers({}, 2), numbers({}, 3)};
      const ir::Program program = trace(f)(arguments[0], arguments[1], arguments[2]).program;
      const bool is_small = !same(shape[0], Dim(4097));
      EXPECT_EQ(kernels_and_operations(program).first == 1, is_small) << shape.text();
      expect_as_evaluated(program, arguments, 1e-5);
    }
  }
}

// A space with rows keeps them: the sum of all is accumulated over them.
TEST(Fusing, FewElementsMayHaveRows) {
  const auto f = [](const Tensor& x) {
    const Tensor y = softmax(x, -1) * 2.;
    return std::vector<Tensor>{y, sum(y * x), sum(exp(x)) + 1.};
  };
  for (const Shape& shape : {Shape{3, 5}, Shape{1, 5}, Shape{5, 1}, Shape{2, 3, 4}}) {
    const Tensor x = numbers(shape, 1);
    expect_as_evaluated(trace(f)(x).program, {x}, 1e-5);
  }
}

// In a loop an operation of few elements is a kernel.
TEST(Fusing, OperationsOfLoopsAreKernels) {
  register_all();
  if (find_target(Device::Kind::cpu) == nullptr) GTEST_SKIP() << "no kernels in this build";
  const auto f = [](const Tensor& x, const Tensor& n) {
    const auto more = [&](const std::vector<Tensor>& c) { return less(c[1], n); };
    const auto next = [](const std::vector<Tensor>& c) {
      return std::vector<Tensor>{exp(c[0]), c[1] + 1};
    };
    return while_loop(more, next, std::vector<Tensor>{x, n - n});
  };
  const Tensor n(Array::of(int64_t{3}));
  const auto in_loop = [&](const Shape& shape) {
    return kernels_and_operations(trace(f)(numbers(shape, 1), n).program);
  };
  EXPECT_EQ(in_loop({5}), (std::pair<size_t, size_t>{3, 1}));
  EXPECT_EQ(in_loop({5000}), (std::pair<size_t, size_t>{2, 2}));
}

TEST(Fusing, ResultsThatAreLooksAndNumbersAreGiven) {
  const auto f = [](const Tensor& x) {
    const Tensor y = exp(x) * 2., turned = matrix_transpose(y);
    return std::vector<Tensor>{turned, reshape(turned, {12}), y - 1., broadcast_to(sum(y), {3})};
  };
  const Tensor x = numbers({3, 4}, 1);
  expect_as_evaluated(trace(f)(x).program, {x}, 1e-6);
  const ir::Program constants = parsed(R"(
    func @main<n>(%x: f32[n]) -> (f32[3], i64[], f32[n]) {
      %0 = literal {value = f32[3](2 ...)}
      %1 = size {value = n + 1}
      return %0, %1, %x
    })");
  expect_as_evaluated(constants, {numbers({5}, 1)}, 0);
}

}  // namespace
}  // namespace plait::compile
