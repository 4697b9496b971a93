#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/cpu/inside/reductions/cpu_reduce.h"

#include "tests/cpu/reduce_support.h"

namespace plait {
namespace {

using ir::Reduction;
using reduce_test::at;
using reduce_test::for_each_index;
using reduce_test::number_of;
using reduce_test::numbers;
using reduce_test::reduced;

double combined(Reduction reduction, double a, double b) {
  switch (reduction) {
    case Reduction::product: return a * b;
    case Reduction::maximum: return std::max(a, b);
    case Reduction::minimum: return std::min(a, b);
    default: return a + b;
  }
}

double identity(Reduction reduction) {
  switch (reduction) {
    case Reduction::product: return 1;
    case Reduction::maximum: return -HUGE_VAL;
    case Reduction::minimum: return HUGE_VAL;
    default: return 0;
  }
}

// Sequential reduction in f64.
std::vector<double> expected(Reduction reduction, const Array& x, std::span<const int64_t> axes,
                             const Array& out) {
  std::vector<double> totals(static_cast<size_t>(out.element_count()), identity(reduction));
  for_each_index(x.sizes(), [&](std::span<const int64_t> index) {
    int64_t place = 0;
    for (size_t i = 0; i < x.rank(); ++i) {
      if (!std::ranges::binary_search(axes, static_cast<int64_t>(i))) {
        place = place * x.sizes()[i] + index[i];
      }
    }
    double& total = totals[static_cast<size_t>(place)];
    total = combined(reduction, total, at(x, index));
  });
  return totals;
}

void check_reduction(Reduction reduction, const Array& x, const std::vector<int64_t>& axes) {
  const Array out = reduced(reduction, x, axes);
  const auto wanted = expected(reduction, x, axes, out);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double got =
        number_of(out.dtype(), out.data() + static_cast<int64_t>(i) * out.element_size());
    ASSERT_NEAR(got, wanted[i], 1e-5 * std::abs(wanted[i]) + 1e-3)
        << text_of_sizes(x.sizes()) << " place " << i;
  }
}

const std::vector<std::vector<int64_t>> kAxes = {{},     {0},    {1},    {2},
                                                 {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}};

TEST(Reduce, AnyAxesOfAnyLayout) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i64}) {
    const Array x = numbers(dtype, {7, 33, 70});
    const Layout& layout = x.layout();
    for (const Layout& each : {layout, layout.permuted(std::vector<int64_t>{2, 0, 1}),
                               layout.permuted(std::vector<int64_t>{1, 2, 0}), layout.reversed(2),
                               layout.sliced(2, {.step = 3}).sliced(1, {.start = 4, .step = -2}),
                               layout.picked(0, 2).expanded(0).broadcast_to(Sizes{5, 33, 70}),
                               layout.sliced(1, {.stop = 0}), layout.sliced(0, {.stop = 1})}) {
      for (const auto& axes : kAxes) {
        for (const Reduction reduction : {Reduction::sum, Reduction::maximum, Reduction::minimum}) {
          const bool is_empty = each.element_count() == 0 && reduction != Reduction::sum;
          if (!is_empty) check_reduction(reduction, x.view(each), axes);
        }
      }
    }
  }
}

TEST(Reduce, LongOnesAreSharedAmongThreads) {
  for (const Sizes& sizes :
       {Sizes{1'500'000}, Sizes{3, 700'001}, Sizes{700'001, 3}, Sizes{2, 900, 901}}) {
    const Array x = numbers(DType::f32, sizes);
    for (int64_t axis = 0; axis < static_cast<int64_t>(x.rank()); ++axis) {
      check_reduction(Reduction::sum, x, {axis});
      check_reduction(Reduction::maximum, x, {axis});
    }
  }
}

TEST(Reduce, EveryDTypeThatItTakes) {
  for (const DTypeInfo& info : kDTypes) {
    for (const Reduction reduction :
         {Reduction::sum, Reduction::product, Reduction::maximum, Reduction::minimum}) {
      if (!has_reduction(reduction, info.dtype)) continue;
      Array x = numbers(DType::f64, {3, 5});
      for (double& element : x.writable_elements<double>()) element = std::abs(element) + 1;
      const Array y = x.converted(info.dtype);
      const Array out = reduced(reduction, y, std::vector<int64_t>{1});
      const auto wanted = expected(reduction, y, std::vector<int64_t>{1}, out);
      for (int64_t i = 0; i < 3; ++i) {
        const double number = number_of(info.dtype, out.data() + i * out.element_size());
        EXPECT_NEAR(number, wanted[static_cast<size_t>(i)], wanted[static_cast<size_t>(i)] * 0.01)
            << info.name;
      }
    }
  }
}

TEST(Reduce, NaNStaysAndSumsAreAccurate) {
  const float values[] = {1, NAN, 3, 2};
  const Array x = Array::of(std::span<const float>(values), {4});
  EXPECT_TRUE(
      std::isnan(reduced(Reduction::maximum, x, std::vector<int64_t>{0}).elements<float>()[0]));
  EXPECT_TRUE(
      std::isnan(reduced(Reduction::minimum, x, std::vector<int64_t>{0}).elements<float>()[0]));
  const Array tenths = Array::filled(DType::f32, {10'000'000}, Element::of(0.1));
  EXPECT_NEAR(reduced(Reduction::sum, tenths, std::vector<int64_t>{0}).elements<float>()[0], 1e6,
              2);
  const bool truths[] = {true, false, true};
  const Array y = Array::of(std::span<const bool>(truths), {3});
  EXPECT_FALSE(reduced(Reduction::all, y, std::vector<int64_t>{0}).elements<bool>()[0]);
  EXPECT_TRUE(reduced(Reduction::any, y, std::vector<int64_t>{0}).elements<bool>()[0]);
  Array key = Array::empty(DType::key, {2});
  EXPECT_THROW(reduced(Reduction::sum, key, std::vector<int64_t>{0}), TypeError);
}

}  // namespace
}  // namespace plait
