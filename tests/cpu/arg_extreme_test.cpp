// argmax and argmin compared with a sequential search.
#include <cmath>
#include <optional>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/cpu/inside/order/cpu_sort.h"

#include "tests/cpu/elementwise_support.h"
#include "tests/cpu/reduce_support.h"
#include "tests/support/threads.h"

namespace plait {
namespace {

using elementwise_test::AtLevel;
using elementwise_test::cpu_levels;
using reduce_test::at;
using reduce_test::for_each_index;
using reduce_test::numbers;

Array found(const Array& x, int64_t axis, bool greatest) {
  Sizes sizes = x.sizes();
  sizes.erase(static_cast<size_t>(axis));
  Array places = Array::empty(DType::i64, sizes);
  arg_extreme(x, axis, greatest, places);
  return places;
}

int64_t wanted_place(const Array& x, std::vector<int64_t> index, size_t axis, bool greatest) {
  int64_t place = 0;
  std::optional<double> best;
  for (int64_t i = 0; i < x.sizes()[axis]; ++i) {
    index[axis] = i;
    const double number = at(x, index);
    if (std::isnan(number)) return i;
    if (!best || (greatest ? number > *best : number < *best)) {
      best = number;
      place = i;
    }
  }
  return place;
}

void check_places(const Array& x, int64_t axis) {
  for (const bool greatest : {true, false}) {
    const Array places = found(x, axis, greatest);
    for_each_index(places.sizes(), [&](std::span<const int64_t> kept) {
      std::vector<int64_t> index(kept.begin(), kept.end());
      int64_t place = 0;
      for (size_t i = 0; i < kept.size(); ++i) place = place * places.sizes()[i] + kept[i];
      index.insert(index.begin() + axis, 0);
      ASSERT_EQ(places.elements<int64_t>()[static_cast<size_t>(place)],
                wanted_place(x, index, static_cast<size_t>(axis), greatest))
          << name_of(x.dtype()) << text_of_sizes(x.sizes()) << " axis " << axis
          << (greatest ? " max" : " min");
    });
  }
}

// Few distinct values, so that the first of many equal elements must be found.
TEST(ArgExtreme, EveryDTypeAlongEveryAxis) {
  const Threads threads(2);
  for (const DTypeInfo& info : kDTypes) {
    if (info.dtype == DType::key || is_complex(info.dtype)) continue;
    for (const Sizes& sizes : {Sizes{5}, Sizes{300}, Sizes{1}, Sizes{40, 3}, Sizes{3, 70, 20},
                               Sizes{2, 600}, Sizes{65, 17}}) {
      const Array x = numbers(DType::f32, sizes).converted(info.dtype);
      for (int64_t axis = 0; axis < static_cast<int64_t>(x.rank()); ++axis) {
        check_places(x, axis);
        check_places(x.view(x.layout().reversed(axis)), axis);
      }
    }
  }
}

TEST(ArgExtreme, TheFirstNaNWhereverItIs) {
  for (const std::string& level : cpu_levels()) {
    const AtLevel at_level(level);
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8e5m2}) {
      for (const int64_t length : {1, 31, 32, 300, 1000}) {
        Array x = Array::filled(DType::f64, {length}, Element::of(INFINITY));
        for (int64_t place = length - 1; place >= 0; place -= length < 400 ? 1 : 97) {
          // The elements behind it are already NaN.
          x.writable_elements<double>()[static_cast<size_t>(place)] = NAN;
          const Array narrow = x.converted(dtype);
          for (const bool greatest : {true, false}) {
            ASSERT_EQ(found(narrow, 0, greatest).elements<int64_t>()[0], place)
                << name_of(dtype) << " " << length;
          }
          const Array columns =
              narrow.view(narrow.layout().expanded(1).broadcast_to(Sizes{length, 20}));
          const Array places = found(columns, 0, true);
          for (const int64_t each : places.elements<int64_t>()) {
            ASSERT_EQ(each, place);
          }
        }
      }
    }
  }
}

TEST(ArgExtreme, ZerosAreAlike) {
  for (const int64_t length : {3, 50, 900}) {
    Array x = Array::filled(DType::f32, {length}, Element::of(-0.0));
    x.writable_elements<float>()[static_cast<size_t>(length - 1)] = 0.0F;
    EXPECT_EQ(found(x, 0, true).elements<int64_t>()[0], 0);
    x.writable_elements<float>()[0] = 0.0F;
    EXPECT_EQ(found(x, 0, false).elements<int64_t>()[0], 0);
  }
}

TEST(ArgExtreme, LargeOnesAreSharedAmongThreads) {
  for (const int count : {1, 3}) {
    const Threads threads(count);
    for (const Sizes& sizes : {Sizes{400'003}, Sizes{3, 150'001}, Sizes{150'001, 3},
                               Sizes{30'001, 33}, Sizes{33, 9001}, Sizes{2, 5000, 40}}) {
      const Array x = numbers(DType::f32, sizes);
      for (int64_t axis = 0; axis < static_cast<int64_t>(x.rank()); ++axis) check_places(x, axis);
    }
    Array x = Array::filled(DType::f32, {1'000'000}, Element::of(1.0));
    for (const size_t place : {999'999, 700'000, 131'072, 65'535, 1, 0}) {
      x.writable_elements<float>()[place] = 2;
      EXPECT_EQ(found(x, 0, true).elements<int64_t>()[0], static_cast<int64_t>(place));
    }
  }
}

TEST(ArgExtreme, RefusesAnEmptyAxis) {
  EXPECT_THROW(found(Array::empty(DType::f32, {0}), 0, true), ValueError);
  EXPECT_THROW(found(Array::empty(DType::f32, {3, 0}), 1, true), ValueError);
  EXPECT_EQ(found(Array::empty(DType::f32, {3, 0}), 0, true).element_count(), 0);
  EXPECT_THROW(found(Array::empty(DType::c64, {3}), 0, true), TypeError);
}

}  // namespace
}  // namespace plait
