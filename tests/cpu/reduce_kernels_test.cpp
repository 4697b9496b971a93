// Reductions at every level: partial vectors, each position in a vector, and all ways of dividing
// the work into units, pieces and threads.
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "plait/cpu/inside/reductions/cpu_reduce.h"

#include "tests/cpu/elementwise_support.h"
#include "tests/cpu/reduce_support.h"
#include "tests/support/special_numbers.h"
#include "tests/support/threads.h"

namespace plait {
namespace {

using elementwise_test::AtLevel;
using elementwise_test::cpu_levels;
using ir::Reduction;
using reduce_test::at;
using reduce_test::for_each_index;
using reduce_test::number_of;
using reduce_test::numbers;
using reduce_test::reduced;
using reduce_test::total;

constexpr DType kFloats[] = {DType::f64, DType::f32, DType::f16, DType::bf16};
constexpr DType kIntegers[] = {DType::i8, DType::i16, DType::i32, DType::i64,
                               DType::u8, DType::u16, DType::u32, DType::u64};

Array row_of(DType dtype, std::span<const double> values) {
  return Array::of(values, {static_cast<int64_t>(values.size())}).converted(dtype);
}

// Lengths around those at which loops begin and end.
std::vector<int64_t> lengths() {
  std::vector<int64_t> lengths(70);
  std::iota(lengths.begin(), lengths.end(), 1);
  for (const int64_t length : {128, 256, 512, 1024, 2048, 4096, 16384, 32768, 65536}) {
    for (const int64_t more : {-1, 0, 1, 17}) lengths.push_back(length + more);
  }
  return lengths;
}

TEST(ReduceKernels, RowsOfEveryLength) {
  for (const std::string& level : cpu_levels()) {
    const AtLevel at_level(level);
    for (const DType dtype : {DType::f64, DType::f32, DType::i64}) {
      const Array all = numbers(dtype, {65553 + 1});
      const auto doubles = all.converted(DType::f64);
      for (const int64_t length : lengths()) {
        const Array x = all.view(all.layout().sliced(0, {.start = 1, .stop = 1 + length}));
        const auto values = doubles.elements<double>().subspan(1, static_cast<size_t>(length));
        // Sums of these small integers are exact.
        ASSERT_EQ(total(Reduction::sum, x), std::accumulate(values.begin(), values.end(), 0.0))
            << name_of(dtype) << " " << length;
        ASSERT_EQ(total(Reduction::maximum, x), *std::ranges::max_element(values));
        ASSERT_EQ(total(Reduction::minimum, x), *std::ranges::min_element(values));
      }
    }
  }
}

TEST(ReduceKernels, ColumnsOfEveryWidth) {
  for (const std::string& level : cpu_levels()) {
    const AtLevel at_level(level);
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::i64}) {
      for (int64_t width = 1; width < 140; width += width < 40 ? 1 : 13) {
        for (const int64_t height : {1, 3, 4, 5, 9, 70, 1031}) {
          const Array x = numbers(dtype, {height, width});
          const Array sums = reduced(Reduction::sum, x, {0});
          const Array most = reduced(Reduction::maximum, x, {0});
          for (int64_t c = 0; c < width; ++c) {
            double sum = 0, greatest = -kInfinity;
            for (int64_t r = 0; r < height; ++r) {
              const double number = at(x, std::vector<int64_t>{r, c});
              sum += number;
              greatest = std::max(greatest, number);
            }
            const double rounded = dtype == DType::bf16 ? std::abs(sum) / 256 : 0;
            ASSERT_NEAR(at(sums, std::vector<int64_t>{c}), sum, rounded)
                << name_of(dtype) << " " << height << " x " << width;
            ASSERT_EQ(at(most, std::vector<int64_t>{c}), greatest);
          }
        }
      }
    }
  }
}

// NaN propagates from every position, and does not appear otherwise.
TEST(ReduceKernels, NaNAtEachPlace) {
  for (const std::string& level : cpu_levels()) {
    const AtLevel at_level(level);
    for (const DType dtype : kFloats) {
      for (const size_t length : {1, 5, 16, 33, 64, 100, 257, 1100}) {
        std::vector<double> values(length, -1.0);
        for (size_t place = 0; place < length; ++place) {
          values[place] = NAN;
          const Array x = row_of(dtype, values);
          for (const Reduction reduction :
               {Reduction::maximum, Reduction::minimum, Reduction::sum, Reduction::product}) {
            ASSERT_TRUE(std::isnan(total(reduction, x))) << place << " of " << length;
          }
          const Array rows =
              x.view(x.layout().expanded(0).broadcast_to(Sizes{6, static_cast<int64_t>(length)}));
          const Array columns = reduced(Reduction::maximum, rows.contiguous(), {0});
          for (size_t c = 0; c < length; ++c) {
            const auto index = std::vector<int64_t>{static_cast<int64_t>(c)};
            ASSERT_EQ(std::isnan(at(columns, index)), c == place);
          }
          values[place] = place % 2 == 0 ? kInfinity : -kInfinity;
        }
        EXPECT_EQ(total(Reduction::maximum, row_of(dtype, values)), kInfinity);
        EXPECT_EQ(total(Reduction::minimum, row_of(dtype, values)),
                  length > 1 ? -kInfinity : kInfinity);
      }
    }
  }
}

TEST(ReduceKernels, ExtremesOfExtremes) {
  for (const std::string& level : cpu_levels()) {
    const AtLevel at_level(level);
    for (const DType dtype : kFloats) {
      for (const size_t length : {1, 40, 700}) {
        const std::vector<double> least(length, -kInfinity), most(length, kInfinity);
        EXPECT_EQ(total(Reduction::maximum, row_of(dtype, least)), -kInfinity);
        EXPECT_EQ(total(Reduction::minimum, row_of(dtype, most)), kInfinity);
      }
    }
    for (const DType dtype : kIntegers) {
      const int bits = static_cast<int>(8 * size_of(dtype));
      const bool has_sign = is_signed(dtype);
      const uint64_t least = has_sign ? uint64_t{1} << (bits - 1) : 0;
      const uint64_t most = (~uint64_t{0} >> (64 - bits)) ^ least;
      const auto extended = [&](uint64_t value) {
        return Element::of_signed(static_cast<int64_t>(value << (64 - bits)) >>
                                  (has_sign ? 64 - bits : 0));
      };
      for (const int64_t length : {1, 2, 31, 200, 3000}) {
        for (const auto& [all, one, reduction] : {std::tuple(least, most, Reduction::maximum),
                                                  std::tuple(most, least, Reduction::minimum)}) {
          Array x =
              Array::filled(dtype, {length}, has_sign ? extended(all) : Element::of_unsigned(all));
          const Element other = has_sign ? extended(one) : Element::of_unsigned(one);
          const double before = total(reduction, x);
          EXPECT_EQ(before, number_of(dtype, x.data()));
          store_element(dtype, other, x.writable_data() + length / 2 * size_of(dtype));
          EXPECT_EQ(total(reduction, x), number_of(dtype, x.data() + length / 2 * size_of(dtype)))
              << name_of(dtype) << " " << length;
        }
      }
    }
  }
}

TEST(ReduceKernels, ZerosAndTheirSigns) {
  for (const DType dtype : kFloats) {
    for (const size_t length : {1, 17, 300}) {
      const std::vector<double> zeros(length, -0.0);
      EXPECT_FALSE(std::signbit(total(Reduction::sum, row_of(dtype, zeros))));  // starts from 0
      EXPECT_TRUE(std::signbit(total(Reduction::maximum, row_of(dtype, zeros))));
      EXPECT_EQ(std::signbit(total(Reduction::product, row_of(dtype, zeros))), length % 2 == 1);
      std::vector<double> mixed = zeros;
      mixed.back() = 0.0;
      EXPECT_EQ(total(Reduction::maximum, row_of(dtype, mixed)), 0);
      EXPECT_EQ(total(Reduction::minimum, row_of(dtype, mixed)), 0);
    }
  }
}

TEST(ReduceKernels, OfNothing) {
  for (const Sizes& sizes : {Sizes{0}, Sizes{0, 5}, Sizes{5, 0}, Sizes{3, 0, 2}, Sizes{0, 0}}) {
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64}) {
      EXPECT_EQ(total(Reduction::sum, Array::empty(dtype, sizes)), 0);
      EXPECT_EQ(total(Reduction::product, Array::empty(dtype, sizes)), 1);
    }
    EXPECT_EQ(total(Reduction::maximum, Array::empty(DType::f32, sizes)), -kInfinity);
    EXPECT_EQ(total(Reduction::minimum, Array::empty(DType::i8, sizes)), 127);
    const Array truths = Array::empty(DType::boolean, sizes);
    EXPECT_TRUE(
        load_element(DType::boolean,
                     reduced(Reduction::all, truths.view(Layout::contiguous({0})), {0}).data())
            .integer != 0);
  }
  const Array kept = reduced(Reduction::sum, Array::empty(DType::f32, {0, 3}), {0});
  for (const float sum : kept.elements<float>()) EXPECT_EQ(sum, 0);
  EXPECT_EQ(reduced(Reduction::sum, Array::empty(DType::f32, {0, 3}), {1}).element_count(), 0);
  const Array one = Array::filled(DType::f32, {}, Element::of(2.5));
  EXPECT_EQ(total(Reduction::sum, one), 2.5);
}

TEST(ReduceKernels, TruthAtEachPlace) {
  for (const std::string& level : cpu_levels()) {
    const AtLevel at_level(level);
    for (const int64_t length : {1, 15, 64, 129, 1500}) {
      for (int64_t place = 0; place < length; place += length < 200 ? 1 : 37) {
        for (const bool filled : {false, true}) {
          Array x = Array::filled(DType::boolean, {length}, Element::of(filled));
          x.writable_elements<bool>()[static_cast<size_t>(place)] = !filled;
          const std::vector<int64_t> axes{0};
          EXPECT_EQ(reduced(Reduction::any, x, axes).elements<bool>()[0], length > 1 || !filled);
          EXPECT_EQ(reduced(Reduction::all, x, axes).elements<bool>()[0], length == 1 && !filled);
        }
      }
    }
  }
}

TEST(ReduceKernels, IntegersWrap) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  for (const std::string& level : cpu_levels()) {
    const AtLevel at_level(level);
    std::vector<int64_t> values(100, 0);
    values[3] = most;
    values[90] = 2;
    const Array x = Array::of(std::span<const int64_t>(values), {100});
    const std::vector<int64_t> axes{0};
    EXPECT_EQ(reduced(Reduction::sum, x, axes).elements<int64_t>()[0],
              std::numeric_limits<int64_t>::min() + 1);
    std::ranges::fill(values, 1);
    values[7] = values[77] = (int64_t{1} << 40) + 3;
    const Array y = Array::of(std::span<const int64_t>(values), {100});
    EXPECT_EQ(reduced(Reduction::product, y, axes).elements<int64_t>()[0],
              6 * (int64_t{1} << 40) + 9);  // 2^80 is discarded
  }
}

// An exact sum of x[i] = i mod 5 for row-major index i. The sizes are chosen such that work is
// divided into blocks of results, into pieces of a reduction, and both, for one and for many rows
// and columns.
TEST(ReduceKernels, LargeOnes) {
  const Threads threads(3);
  struct Case {
    Sizes sizes;
    std::vector<int64_t> axes;
  };
  for (const Case& each :
       {Case{{300'007}, {0}}, Case{{3, 200'001}, {1}}, Case{{200'001, 3}, {0}},
        Case{{200'001, 3}, {1}}, Case{{70, 9000}, {0}}, Case{{9000, 70}, {1}},
        Case{{2, 1000, 301}, {1}}, Case{{1000, 2, 301}, {0, 2}}, Case{{130, 65, 66}, {0, 1}},
        Case{{130, 65, 66}, {1, 2}}, Case{{90'000, 4, 2}, {0}}, Case{{90'000, 4, 2}, {0, 2}},
        Case{{257, 4100}, {0}}, Case{{4100, 257}, {0, 1}}}) {
    Array x = Array::empty(DType::f32, each.sizes);
    auto elements = x.writable_elements<float>();
    for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i % 5);
    for (const bool is_reversed : {false, true}) {
      const Array seen = is_reversed ? x.view(x.layout().reversed(0)) : x;
      const Array out = reduced(Reduction::sum, seen, each.axes);
      std::vector<double> wanted(static_cast<size_t>(out.element_count()));
      for_each_index(each.sizes, [&](std::span<const int64_t> index) {
        size_t place = 0;
        for (size_t i = 0; i < index.size(); ++i) {
          if (std::ranges::binary_search(each.axes, static_cast<int64_t>(i))) continue;
          place = place * static_cast<size_t>(each.sizes[i]) + static_cast<size_t>(index[i]);
        }
        wanted[place] += at(seen, index);
      });
      for (size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_EQ(out.elements<float>()[i], wanted[i]) << text_of_sizes(each.sizes) << " " << i;
      }
    }
  }
}

// Layouts that are strided, broadcast or reversed give the same results as their copies.
TEST(ReduceKernels, AnyLayout) {
  const Threads threads(2);
  for (const DType dtype : {DType::f32, DType::f16, DType::i8, DType::i64, DType::c128}) {
    const Array x = numbers(DType::f32, {40, 50, 120}).converted(dtype);
    const Layout& layout = x.layout();
    for (const Layout& each :
         {layout.permuted(std::vector<int64_t>{2, 0, 1}),
          layout.permuted(std::vector<int64_t>{1, 2, 0}).reversed(1), layout.sliced(2, {.step = 2}),
          layout.sliced(2, {.step = -3}).sliced(0, {.step = 2}),
          layout.sliced(1, {.start = 3, .stop = 4}),
          layout.picked(0, 1).expanded(0).broadcast_to(Sizes{300, 50, 120}),
          layout.picked(2, 5).expanded(2).broadcast_to(Sizes{40, 50, 300}),
          layout.picked(1, 7).picked(1, 7).expanded(0).expanded(2).broadcast_to(Sizes{7, 40, 9})}) {
      const Array view = x.view(each), copy = view.copy();
      for (const auto& axes :
           std::vector<std::vector<int64_t>>{{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}}) {
        const bool has_exact_sums = dtype != DType::i8 && dtype != DType::f16;
        const Reduction reduction = has_exact_sums ? Reduction::sum : Reduction::maximum;
        const Array got = reduced(reduction, view, axes), wanted = reduced(reduction, copy, axes);
        for_each_index(got.sizes(), [&](std::span<const int64_t> index) {
          ASSERT_EQ(at(got, index), at(wanted, index));
        });
      }
    }
  }
}

TEST(ReduceKernels, TheSameBitsForAnyLevelAndAnyNumberOfThreads) {
  for (const Sizes& sizes :
       {Sizes{999'999}, Sizes{1500, 700}, Sizes{700, 1500}, Sizes{99'999, 7}}) {
    Array x = Array::empty(DType::f32, sizes);
    uint32_t state = 1;
    for (float& element : x.writable_elements<float>()) {
      state = state * 1664525 + 1013904223;
      element = static_cast<float>(state) * 0x1p-32F;
    }
    for (int64_t axis = 0; axis < static_cast<int64_t>(x.rank()); ++axis) {
      std::vector<float> wanted;
      for (const std::string& level : cpu_levels()) {
        const AtLevel at_level(level);
        for (const int count : {1, 2, 5}) {
          const Threads threads(count);
          const Array out = reduced(Reduction::sum, x, {axis});
          const auto got = out.elements<float>();
          if (wanted.empty()) wanted.assign(got.begin(), got.end());
          ASSERT_TRUE(std::ranges::equal(got, wanted)) << text_of_sizes(sizes) << " " << axis;
        }
      }
    }
  }
}

// Errors of sums of numbers around 1, compared with sums in f64.
TEST(ReduceKernels, SumsAreAccurate) {
  Array x = Array::empty(DType::f32, {1 << 22});
  uint32_t state = 1;
  double truth = 0;
  for (float& element : x.writable_elements<float>()) {
    state = state * 1664525 + 1013904223;
    element = 0.5F + static_cast<float>(state >> 8) * 0x1p-24F;
    truth += element;
  }
  EXPECT_NEAR(total(Reduction::sum, x), truth, truth * 3e-7);
  EXPECT_NEAR(total(Reduction::sum, x.view(*x.layout().reshaped({1 << 11, 1 << 11}))), truth,
              truth * 3e-7);
  const Array columns = reduced(Reduction::sum, x.view(*x.layout().reshaped({1 << 20, 4})), {0});
  double sum = 0;
  for (const float each : columns.elements<float>()) sum += each;
  EXPECT_NEAR(sum, truth, truth * 3e-7);
}

}  // namespace
}  // namespace plait
