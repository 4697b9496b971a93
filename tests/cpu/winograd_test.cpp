// Winograd's convolutions beside direct ones in f64.
#include "plait/cpu/inside/convolutions/winograd.h"

#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "plait/cpu/cpu_level.h"
#include "plait/cpu/inside/convolutions/cpu_convolution.h"

#include "tests/cpu/product_reference.h"
#include "tests/support/threads.h"

namespace plait {
namespace {

constexpr ConvolutionKind kKinds[] = {ConvolutionKind::forward, ConvolutionKind::input_gradient,
                                      ConvolutionKind::weight_gradient};

struct Case {
  int64_t images, inputs, outputs, high, wide;
  Sizes low = {1, 1}, padding_high = {1, 1};

  // Few kernels may have taps of very different sizes; a tap beside one place meets zeros alone.
  bool is_usual() const { return inputs * outputs >= 8 && high > 1 && wide > 1; }
  ConvolutionGeometry geometry() const { return {{}, low, padding_high}; }
  std::string text() const {
    return fmt::format("{} images of {} x {}, {} -> {} channels, padding {},{} and {},{}", images,
                       high, wide, inputs, outputs, low[0], low[1], padding_high[0],
                       padding_high[1]);
  }
};

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {{1, 1, 1, 1, 1},
                                         {1, 1, 1, 3, 3, {0, 0}, {0, 0}},
                                         {2, 3, 5, 4, 6},
                                         {3, 16, 16, 8, 8},
                                         {2, 17, 33, 7, 9},
                                         {1, 15, 31, 14, 14, {2, 0}, {0, 2}},
                                         {2, 32, 64, 5, 40, {2, 2}, {2, 2}},
                                         {5, 20, 48, 2, 2},
                                         {1, 40, 8, 33, 5, {0, 2}, {1, 0}},
                                         {2, 70, 100, 13, 17},
                                         {1, 4, 4, 1, 70, {1, 0}, {1, 0}},
                                         {1, 8, 200, 6, 3, {0, 1}, {0, 0}},
                                         {3, 70, 100, 40, 36}};  // several chunks of tiles
  return list;
}

struct Operands {
  Array x, w, out;

  Operands(const Case& c, DType dtype)
      : x(random_array(dtype, {c.images, c.inputs, c.high, c.wide}, 1)),
        w(random_array(dtype, {c.outputs, c.inputs, 3, 3}, 2)),
        out(random_array(dtype, convolution_sizes(x.sizes(), w.sizes(), c.geometry()), 3)) {}

  Array& result(ConvolutionKind kind) {
    return kind == ConvolutionKind::forward ? out : kind == ConvolutionKind::input_gradient ? x : w;
  }
  void each(const std::function<void(Array&)>& visit) {
    for (Array* array : {&x, &w, &out}) visit(*array);
  }
};

void convolve_directly(ConvolutionKind kind, const Case& c, Operands& o) {
  switch (kind) {
    case ConvolutionKind::forward: return convolution(o.x, o.w, c.geometry(), o.out);
    case ConvolutionKind::input_gradient:
      return convolution_input_gradient(o.out, o.w, c.geometry(), o.x);
    case ConvolutionKind::weight_gradient:
      return convolution_weight_gradient(o.x, o.out, c.geometry(), o.w);
  }
}

bool convolve(ConvolutionKind kind, const Case& c, int m, Operands& o) {
  const ConvolutionShape shape = convolution_shape(o.x, o.w, o.out, c.geometry());
  EXPECT_TRUE(has_winograd(shape)) << c.text();
  return winograd_convolution(kind, shape, m, o.x, o.w, o.out);
}

std::vector<double> numbers_of(const Array& array) {
  const Array dense = array.converted(DType::f64).contiguous();
  const auto elements = dense.elements<double>();
  return {elements.begin(), elements.end()};
}

// Errors are in proportion to the results of a tile, not to each result.
void expect_close(const Array& found, const Array& expected, const std::string& where) {
  const auto a = numbers_of(found), b = numbers_of(expected);
  double squares = 0;
  for (const double number : b) squares += number * number;
  const double typical = b.empty() ? 0 : std::sqrt(squares / static_cast<double>(b.size()));
  const double rounding = found.dtype() == DType::bf16 ? 0x1p-8 : 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], 3e-5 * typical + rounding * std::abs(b[i]) + 1e-30)
        << where << ", element " << i;
  }
}

void try_case(const Case& c, DType dtype, Order order, int m) {
  for (const ConvolutionKind kind : kKinds) {
    const std::string where =
        fmt::format("{}, m = {}, kind {}, {}, order {}", c.text(), m, static_cast<int>(kind),
                    name_of(dtype), static_cast<int>(order));
    Operands given(c, dtype), exact = given;
    exact.each([](Array& array) { array = array.converted(DType::f64); });
    convolve_directly(kind, c, exact);
    given.each([&](Array& array) { array = reordered(array, order); });
    if (!convolve(kind, c, m, given)) {
      ASSERT_FALSE(c.is_usual()) << where;
      continue;
    }
    expect_close(given.result(kind), exact.result(kind), where);
    if (testing::Test::HasFatalFailure()) return;
  }
}

class WinogradOf : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Results, WinogradOf, testing::Values(2, 4));

TEST_P(WinogradOf, EverySize) {
  for (const Case& c : cases()) {
    for (const DType dtype : {DType::f32, DType::bf16}) try_case(c, dtype, Order::rows, GetParam());
    if (HasFatalFailure()) return;
  }
}

TEST_P(WinogradOf, EveryLayout) {
  for (const Case& c : cases()) {
    for (const Order order : {Order::columns, Order::backwards, Order::gaps}) {
      for (const DType dtype : {DType::f32, DType::bf16}) try_case(c, dtype, order, GetParam());
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(WinogradOf, ChannelsLast) {
  const Case c{2, 40, 33, 9, 7};
  for (const ConvolutionKind kind : kKinds) {
    Operands given(c, DType::f32), exact = given;
    exact.each([](Array& array) { array = array.converted(DType::f64); });
    convolve_directly(kind, c, exact);
    given.each([](Array& array) {
      const Layout& layout = array.layout();
      const Array last = array.view(layout.permuted(Sizes{0, 2, 3, 1})).copy();
      array = last.view(last.layout().permuted(Sizes{0, 3, 1, 2}));
    });
    ASSERT_EQ(given.x.layout().strides[1], 1);
    ASSERT_TRUE(convolve(kind, c, GetParam(), given));
    expect_close(given.result(kind), exact.result(kind), "channels last");
  }
}

TEST_P(WinogradOf, EveryLevelOfInstructions) {
  for (const CpuLevel level : {CpuLevel::sse4, CpuLevel::avx2, CpuLevel::avx512}) {
    setting::kCpu.set(level);
    for (const size_t i : {4U, 5U, 9U}) {
      for (const DType dtype : {DType::f32, DType::bf16})
        try_case(cases()[i], dtype, Order::rows, GetParam());
    }
    setting::kCpu.reset();
  }
}

TEST_P(WinogradOf, AnyNumberOfThreadsGivesTheSameBits) {
  const Case c{3, 48, 40, 30, 22};
  for (const ConvolutionKind kind : kKinds) {
    Operands first(c, DType::f32);
    {
      const Threads threads(1);
      ASSERT_TRUE(convolve(kind, c, GetParam(), first));
    }
    for (const int count : {2, 3, 7}) {
      const Threads threads(count);
      Operands other(c, DType::f32);
      ASSERT_TRUE(convolve(kind, c, GetParam(), other));
      EXPECT_EQ(numbers_of(first.result(kind)), numbers_of(other.result(kind)))
          << count << " threads";
    }
  }
}

TEST_P(WinogradOf, RandomSizes) {
  const char* seed = std::getenv("PLAIT_SEED");  // the count of commits
  std::mt19937 random(seed == nullptr ? 1 : static_cast<unsigned>(std::strtoul(seed, nullptr, 10)));
  const auto up_to = [&](int64_t most) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(most)) + 1;
  };
  for (int i = 0; i < 40; ++i) {
    const auto padding = [&] { return Sizes{up_to(3) - 1, up_to(3) - 1}; };
    Case c{up_to(3), up_to(40), up_to(70), up_to(20), up_to(20), padding(), padding()};
    c.high = std::max<int64_t>(c.high, 3), c.wide = std::max<int64_t>(c.wide, 3);
    try_case(c, i % 4 == 0 ? DType::bf16 : DType::f32, kOrders[i % 4], GetParam());
    if (HasFatalFailure()) return;
  }
}

TEST_P(WinogradOf, SaysThatResultsAreNotFinite) {
  const Case c{2, 5, 6, 9, 9};
  for (const float number :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    for (const ConvolutionKind kind : kKinds) {
      for (int which = 0; which < 2; ++which) {
        Operands operands(c, DType::f32);
        Array& read = kind == ConvolutionKind::forward ? (which ? operands.x : operands.w)
                      : kind == ConvolutionKind::input_gradient
                          ? (which ? operands.out : operands.w)
                          : (which ? operands.out : operands.x);
        read.writable_elements<float>()[7] = number;
        EXPECT_FALSE(convolve(kind, c, GetParam(), operands));
      }
    }
  }
}

TEST_P(WinogradOf, SaysThatResultsOverflow) {
  const Case c{2, 5, 6, 9, 9};
  for (const ConvolutionKind kind : kKinds) {
    Operands operands(c, DType::f32);
    operands.each([](Array& array) {
      for (float& number : array.writable_elements<float>()) number *= 1e25F;
    });
    EXPECT_FALSE(convolve(kind, c, GetParam(), operands));
  }
}

// ---- Numbers of very different sizes in one tile.

double relative_error(const Array& found, const Array& expected) {
  const auto a = numbers_of(found), b = numbers_of(expected);
  double errors = 0, squares = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    errors += (a[i] - b[i]) * (a[i] - b[i]);
    squares += b[i] * b[i];
  }
  return std::sqrt(errors / squares);
}

void fill_columns(Array& array, int64_t begin, int64_t end, float number) {
  const auto elements = array.writable_elements<float>();
  const int64_t wide = array.sizes()[3];
  for (size_t i = 0; i < elements.size(); ++i) {
    const int64_t column = static_cast<int64_t>(i) % wide;
    if (column >= begin && column < end) elements[i] = number;
  }
}

// As the kernel that is registered computes: by Winograd's algorithm where that is precise.
void expect_precise(ConvolutionKind kind, const Case& c, const Operands& given, double allowed) {
  Operands found = given, exact = given;
  exact.each([](Array& array) { array = array.converted(DType::f64); });
  found.each([](Array& array) { array = array.copy(); });
  convolve_directly(kind, c, exact);
  convolve_directly(kind, c, found);
  EXPECT_LT(relative_error(found.result(kind), exact.result(kind)), allowed) << c.text();
}

constexpr float kSizes[] = {1e2F, 1e3F, 1e4F, 1e6F, 1e9F, 1e30F};

TEST(Winograd, LargeNumbersThatNoGradientReachesDoNotCount) {
  const Case c{4, 32, 32, 32, 32};
  for (const float size : kSizes) {
    Operands of_input(c, DType::f32), of_gradient(c, DType::f32);
    fill_columns(of_input.x, 18, 32, size);
    fill_columns(of_input.out, 17, 32, 0);
    expect_precise(ConvolutionKind::weight_gradient, c, of_input, 1e-4);
    fill_columns(of_gradient.x, 14, 32, 0);
    fill_columns(of_gradient.out, 15, 32, size);
    expect_precise(ConvolutionKind::weight_gradient, c, of_gradient, 1e-4);
  }
}

TEST(Winograd, ResultsBesideLargeNumbersArePrecise) {
  const Case c{2, 32, 32, 32, 32};
  for (const float size : kSizes) {
    Operands operands(c, DType::f32);
    fill_columns(operands.x, 18, 32, -size);
    Operands exact = operands;
    exact.each([](Array& array) { array = array.converted(DType::f64); });
    convolve_directly(ConvolutionKind::forward, c, exact);
    convolve_directly(ConvolutionKind::forward, c, operands);
    const auto small = [](const Array& y) {
      return y.view(y.layout().sliced(3, Slice{0, 17})).copy();
    };
    EXPECT_LT(relative_error(small(operands.out), small(exact.out)), 1e-4) << size;
  }
}

TEST_P(WinogradOf, ResultsOfZerosAreZero) {
  const Case c{2, 20, 40, 12, 11};
  for (const ConvolutionKind kind : {ConvolutionKind::forward, ConvolutionKind::input_gradient}) {
    Operands operands(c, DType::f32), exact(c, DType::f32);
    for (Operands* each : {&operands, &exact}) {
      Array& read = kind == ConvolutionKind::forward ? each->x : each->out;
      fill_columns(read, 0, 5, 0);
      fill_columns(read, 6, 11, 0);
    }
    exact.each([](Array& array) { array = array.converted(DType::f64); });
    convolve_directly(kind, c, exact);
    ASSERT_TRUE(convolve(kind, c, GetParam(), operands));
    expect_close(operands.result(kind), exact.result(kind), "one column");
    const auto found = numbers_of(operands.result(kind)), expected = numbers_of(exact.result(kind));
    for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i] == 0, expected[i] == 0) << i;
  }
}

TEST_P(WinogradOf, DoesNotTakeKernelsOfVeryDifferentTaps) {
  const Case c{1, 16, 16, 12, 12};
  for (const float number : {0.0F, 1e-6F, 1e6F}) {
    Operands operands(c, DType::f32);
    const auto weights = operands.w.writable_elements<float>();
    for (size_t i = 4; i < weights.size(); i += 9) weights[i] = number;
    EXPECT_FALSE(convolve(ConvolutionKind::forward, c, GetParam(), operands)) << number;
    EXPECT_FALSE(convolve(ConvolutionKind::input_gradient, c, GetParam(), operands)) << number;
  }
}

// Results that are not finite are those of the direct convolution, and no others.
TEST(Winograd, InfinitiesReachWhatDependsOnThem) {
  const Case c{2, 64, 64, 24, 24};
  Operands operands(c, DType::f32);
  const ConvolutionShape shape =
      convolution_shape(operands.x, operands.w, operands.out, c.geometry());
  ASSERT_NE(winograd_results(ConvolutionKind::forward, shape), 0);
  operands.x.writable_elements<float>()[24 * 12 + 12] = std::numeric_limits<float>::infinity();
  convolution(operands.x, operands.w, c.geometry(), operands.out);
  const auto numbers = numbers_of(operands.out);
  int64_t infinite = 0;
  for (const double number : numbers) {
    ASSERT_FALSE(std::isnan(number));
    infinite += std::isinf(number);
  }
  EXPECT_EQ(infinite, 9 * 64);
}

TEST(Winograd, IsChosenBySizeAndSetting) {
  const auto chosen = [](const Case& c, DType dtype = DType::f32) {
    Operands o(c, dtype);
    return winograd_results(ConvolutionKind::forward,
                            convolution_shape(o.x, o.w, o.out, c.geometry()));
  };
  const Case large{4, 64, 64, 56, 56};
  EXPECT_EQ(chosen(large), 4);
  EXPECT_EQ(chosen(large, DType::f64), 0);
  EXPECT_EQ(chosen({1, 4, 4, 8, 8}), 0);
  EXPECT_EQ(chosen({64, 2, 64, 56, 56}), 0) << "few channels";
  EXPECT_EQ(chosen({1, 64, 64, 4, 20000}), 0) << "rows of tiles that are too long";
  {
    const Threads threads(7);
    EXPECT_EQ(chosen({1, 64, 64, 20, 200}), 0) << "more threads than rows of tiles";
  }
  setting::kWinograd.set(false);
  EXPECT_EQ(chosen(large), 0);
  setting::kWinograd.reset();

  Operands o(large, DType::f32);
  for (const ConvolutionGeometry& geometry :
       {ConvolutionGeometry{.strides = {2, 2}},
        ConvolutionGeometry{.padding_low = {3, 3}, .padding_high = {1, 1}},
        ConvolutionGeometry{.padding_low = {-1, 0}, .padding_high = {0, 0}},
        ConvolutionGeometry{.dilation = {2, 1}}, ConvolutionGeometry{.input_dilation = {1, 2}}}) {
    const Array out =
        Array::empty(DType::f32, convolution_sizes(o.x.sizes(), o.w.sizes(), geometry));
    EXPECT_FALSE(has_winograd(convolution_shape(o.x, o.w, out, geometry)));
  }
}

}  // namespace
}  // namespace plait
