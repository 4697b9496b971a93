// Kernels of gather and scatter compared with plain loops, for all ways of dividing the work among
// threads, bit by bit.
#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "plait/cpu/inside/indexing/cpu_gather.h"
#include "plait/cpu/inside/indexing/cpu_scatter.h"

#include "tests/support/threads.h"

namespace plait {
namespace {

Array random_eighths(DType dtype, const Sizes& sizes, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> numbers(-4, 4);
  Array array = Array::empty(DType::f64, sizes);
  for (double& number : array.writable_elements<double>()) number = numbers(random) * 0.25 + 0.125;
  if (!is_inexact(dtype)) {
    for (double& number : array.writable_elements<double>()) number = std::round(number * 4);
  }
  return array.converted(dtype);
}

Array random_rows(int64_t count, int64_t rows, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int64_t> numbers(-rows, rows - 1);
  Array array = Array::empty(DType::i64, {count});
  for (int64_t& number : array.writable_elements<int64_t>()) number = numbers(random);
  return array;
}

bool same_bits(const Array& a, const Array& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() &&
         std::memcmp(a.data(), b.data(),
                     static_cast<size_t>(a.element_count() * a.element_size())) == 0;
}

double updated(Combine combine, double a, double b) {
  switch (combine) {
    case Combine::set: return b;
    case Combine::add: return a + b;
    case Combine::multiply: return a * b;
    case Combine::minimum: return std::min(a, b);
    case Combine::maximum: return std::max(a, b);
  }
  return 0;
}

// Sequential, in f64, rounded to the dtype after each step, or once at the end.
Array by_loops(Combine combine, const Array& x, const Array& updates, const Array& rows,
               bool rounds_once) {
  Array result = x.converted(DType::f64).copy();
  const Array from = updates.converted(DType::f64).contiguous();
  const auto to = result.writable_elements<double>();
  const auto places = rows.elements<int64_t>();
  const auto width = static_cast<size_t>(x.element_count() / x.sizes()[0]);
  const auto rounded = [&](double number) {
    if (rounds_once) return static_cast<double>(static_cast<float>(number));
    return Array::of(number).converted(x.dtype()).converted(DType::f64).element().number.real();
  };
  for (size_t i = 0; i < places.size(); ++i) {
    const int64_t row = places[i] < 0 ? places[i] + x.sizes()[0] : places[i];
    for (size_t k = 0; k < width; ++k) {
      double& element = to[static_cast<size_t>(row) * width + k];
      element = rounded(updated(combine, element, from.elements<double>()[i * width + k]));
    }
  }
  return result.converted(x.dtype());
}

constexpr Combine kAll[] = {Combine::set, Combine::add, Combine::multiply, Combine::minimum,
                            Combine::maximum};

Array scattered(Combine combine, const Array& x, const Array& updates, const Array& rows,
                bool unique = false) {
  Array result = x.copy();
  write_rows(combine, result, updates, {&rows, 1}, {.axes = {0}, .unique = unique});
  return result;
}

TEST(Scatter, EveryDTypeAgreesWithALoop) {
  for (const DTypeInfo& info : kDTypes) {
    if (is_key(info.dtype) || is_complex(info.dtype)) continue;
    for (const Combine combine : kAll) {
      const bool is_arithmetic = combine == Combine::add || combine == Combine::multiply;
      if (is_arithmetic && is_boolean(info.dtype)) continue;
      // Few factors, so that products do not overflow any dtype.
      const int64_t points = combine == Combine::multiply ? 7 : 40;
      const Array x = random_eighths(info.dtype, {9, 5}, 1);
      const Array updates = random_eighths(info.dtype, {points, 5}, 2);
      const Array rows = random_rows(points, 9, 3);
      const bool is_narrow = is_floating(info.dtype) && info.size <= 2;
      const Array expected = by_loops(combine, x, updates, rows, is_narrow && is_arithmetic);
      EXPECT_TRUE(same_bits(scattered(combine, x, updates, rows), expected))
          << info.name << ' ' << static_cast<int>(combine);
    }
  }
}

TEST(Scatter, Complex) {
  const std::vector<std::complex<float>> numbers{{1, 2}, {3, 4}}, factors{{0, 1}, {2, 0}, {1, 1}};
  const Array x = Array::of(std::span(numbers), {2}), u = Array::of(std::span(factors), {3});
  const std::vector<int64_t> places{0, 1, 0};
  const Array rows = Array::of(std::span(places), {3});
  const Array sum = scattered(Combine::add, x, u, rows);
  EXPECT_EQ(sum.elements<std::complex<float>>()[0], std::complex<float>(2, 4));
  const Array product = scattered(Combine::multiply, x, u, rows);
  // (1 + 2i) · i · (1 + i) = −3 − i
  EXPECT_EQ(product.elements<std::complex<float>>()[0], std::complex<float>(-3, -1));
}

// Long rows are divided by columns, short ones by buckets, narrow floats by sorted rows.
TEST(Scatter, AnyNumberOfThreadsGivesTheSameBits) {
  struct Size {
    int64_t rows, width, points;
  };
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32}) {
    for (const Size size : {Size{50, 700, 300}, Size{3000, 1, 60'000}, Size{1, 3, 20'000},
                            Size{70'000, 2, 50'000}, Size{100, 3, 0}}) {
      const Array x = random_eighths(dtype, {size.rows, size.width}, 1);
      Array updates = random_eighths(DType::f64, {size.points, size.width}, 2);
      // Numbers whose sum depends on the order of additions.
      for (double& number : updates.writable_elements<double>())
        number = std::sin(number * 1e3) * 9;
      updates = updates.converted(dtype);
      const Array rows = random_rows(size.points, size.rows, 3);
      for (const Combine combine : {Combine::set, Combine::add, Combine::maximum}) {
        const Array alone = [&] {
          const Threads one(1);
          return scattered(combine, x, updates, rows);
        }();
        // Updates of long or narrow rows are added to each other first.
        const bool sums_first = is_inexact(dtype) && (size.width >= 16 || dtype == DType::bf16);
        if (!sums_first || combine != Combine::add) {
          EXPECT_TRUE(same_bits(alone, by_loops(combine, x, updates, rows, false)));
        }
        for (const int threads : {2, 3, 8, 40}) {
          const Threads many(threads);
          EXPECT_TRUE(same_bits(scattered(combine, x, updates, rows), alone))
              << threads << " threads, " << size.width << " wide";
        }
      }
    }
  }
}

TEST(Scatter, NarrowSumsAreRoundedOnce) {
  // Accumulated in bf16, 256 + 1 would be 256.
  const Array x = Array::filled(DType::bf16, {1}, Element::of(0.0));
  const Array ones = Array::filled(DType::bf16, {1000}, Element::of(1.0));
  const Array rows = Array::filled(DType::i64, {1000}, Element::of_signed(0));
  EXPECT_EQ(scattered(Combine::add, x, ones, rows).element().number.real(), 1000);
}

TEST(Scatter, SmallUpdatesOfLongRowsAreNotLost) {
  // 1 + 2^-25 is 1 in f32.
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Array x = Array::filled(dtype, {3, 16}, Element::of(1.0));
    const Array updates = Array::filled(dtype, {1 << 19, 16}, Element::of(std::ldexp(1, -25)));
    const Array rows = Array::filled(DType::i64, {1 << 19}, Element::of_signed(1));
    const Array sum = scattered(Combine::add, x, updates, rows).converted(DType::f64);
    for (size_t i = 0; i < 48; ++i) {
      EXPECT_EQ(sum.elements<double>()[i], i / 16 == 1 ? 1 + std::ldexp(1, -6) : 1);
    }
  }
}

TEST(Scatter, LongRowsOfSomePointsThatAreDropped) {
  const Array x = random_eighths(DType::f32, {5, 32}, 1);
  const Array updates = random_eighths(DType::f32, {4, 32}, 2);
  const std::vector<int64_t> places{7, 2, -9, 2};
  const Array rows = Array::of(std::span(places), {4});
  Array sum = x.copy();
  write_rows(Combine::add, sum, updates, {&rows, 1}, {.axes = {0}, .outside = Outside::ignored});
  for (size_t k = 0; k < 32; ++k) {
    const auto from = updates.elements<float>();
    EXPECT_EQ(sum.elements<float>()[64 + k],
              x.elements<float>()[64 + k] + from[32 + k] + from[96 + k]);
    EXPECT_EQ(sum.elements<float>()[k], x.elements<float>()[k]);
  }
}

TEST(Scatter, UniqueRowsAndRepeatedUpdates) {
  const int64_t count = 40'000;
  Array order = Array::empty(DType::i64, {count});
  for (int64_t i = 0; i < count; ++i) {
    order.writable_elements<int64_t>()[static_cast<size_t>(i)] = i * 7 % count;
  }
  const Array x = random_eighths(DType::f32, {count, 3}, 1);
  const Array one = random_eighths(DType::f32, {1, 3}, 2);
  const Array repeated = one.view(one.layout().broadcast_to(Sizes{count, 3}));
  for (const Combine combine : {Combine::set, Combine::add}) {
    const Array expected = by_loops(combine, x, repeated, order, false);
    EXPECT_TRUE(same_bits(scattered(combine, x, repeated, order, true), expected));
    EXPECT_TRUE(same_bits(scattered(combine, x, repeated, order, false), expected));
  }
}

TEST(Gather, LongRowsAndStridedOnes) {
  const Array x = random_eighths(DType::f32, {4, 300'000}, 1);
  const Array rows = random_rows(3, 4, 2);
  Array result = Array::empty(DType::f32, {3, 300'000});
  read_rows(x, {&rows, 1}, {.axes = {0}}, result);
  const auto places = rows.elements<int64_t>();
  for (size_t i = 0; i < 3; ++i) {
    const size_t row = static_cast<size_t>(places[i] < 0 ? places[i] + 4 : places[i]);
    EXPECT_EQ(std::memcmp(result.elements<float>().data() + i * 300'000,
                          x.elements<float>().data() + row * 300'000, 300'000 * sizeof(float)),
              0);
  }
  const int64_t axes[] = {1, 0};
  const Array turned = x.view(x.layout().permuted(axes));
  const Array columns = random_rows(5000, 300'000, 3);
  Array lines = Array::empty(DType::f32, {5000, 4});
  read_rows(turned, {&columns, 1}, {.axes = {0}}, lines);
  for (size_t i = 0; i < 5000; ++i) {
    const int64_t given = columns.elements<int64_t>()[i];
    const auto column = static_cast<size_t>(given < 0 ? given + 300'000 : given);
    for (size_t k = 0; k < 4; ++k) {
      ASSERT_EQ(lines.elements<float>()[i * 4 + k], x.elements<float>()[k * 300'000 + column]);
    }
  }
}

}  // namespace
}  // namespace plait
