// Sorts, scans and searches compared with the algorithms of the standard library.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/scan.h"
#include "plait/ops/reductions/sort.h"

#include "tests/ops/rule_checks.h"
#include "tests/support/threads.h"

namespace plait {
namespace {

// NaN is the greatest value.
bool comes_before(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

// Rows with ties, zeros of both signs, infinities and NaNs; some are long enough for radix sort.
std::vector<double> any_row() {
  const auto number = rc::gen::weightedOneOf<double>(
      {{8, rc::gen::map(rc::gen::inRange(-50, 50), [](int n) { return n / 4.; })},
       {1, rc::gen::element(0., -0., INFINITY, -INFINITY, static_cast<double>(NAN))}});
  const auto length = *rc::gen::element<size_t>(0, 1, 2, 3, 7, 30, 255, 256, 257, 600);
  return *rc::gen::container<std::vector<double>>(length, number);
}

// The row as a tensor: contiguous, as every other element of a longer one, or reversed.
Tensor laid_out(const std::vector<double>& row, int layout) {
  const auto length = static_cast<int64_t>(row.size());
  const Tensor dense = tensor(row, {length});
  if (layout == 1) return slice(pad_zeros(dense, 0, 0, 1, 2), 0, {.stop = 2 * length, .step = 2});
  if (layout == 2) return flip(tensor(std::vector(row.rbegin(), row.rend()), {length}), 0);
  return dense;
}

Tensor any_layout_of(const std::vector<double>& row) {
  return laid_out(row, row.empty() ? 0 : *rc::gen::inRange(0, 3));
}

std::vector<int64_t> sorted_places(const std::vector<double>& row, bool descending) {
  std::vector<int64_t> places(row.size());
  std::iota(places.begin(), places.end(), 0);
  std::ranges::stable_sort(places, [&](int64_t a, int64_t b) {
    const double x = row[static_cast<size_t>(a)], y = row[static_cast<size_t>(b)];
    return descending ? comes_before(y, x) : comes_before(x, y);
  });
  return places;
}

Tensor values_at(const std::vector<double>& row, const std::vector<int64_t>& places) {
  std::vector<double> values;
  for (const int64_t place : places) values.push_back(row[static_cast<size_t>(place)]);
  return tensor(values, {static_cast<int64_t>(values.size())});
}

// NaNs are equal; zeros of different signs are not.
bool same(const Tensor& got, const Tensor& wanted) {
  if (got.type().text() != wanted.type().text()) return false;
  const Array a = got.array().converted(DType::f64).contiguous();
  const Array b = wanted.array().converted(DType::f64).contiguous();
  return std::ranges::equal(a.elements<double>(), b.elements<double>(), [](double x, double y) {
    return std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
  });
}

TEST(SortProperty, AsStableSort) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<double> row = any_row();
    const bool descending = *rc::gen::arbitrary<bool>();
    const DType dtype = *rc::gen::element(DType::f64, DType::f32, DType::f16);
    const std::vector<int64_t> places = sorted_places(row, descending);
    const Tensor x = astype(any_layout_of(row), dtype);
    const Ordered ordered = sort_with_indices(x, 0, descending);
    RC_ASSERT(same(ordered.indices, tensor(places, {static_cast<int64_t>(places.size())})));
    RC_ASSERT(same(ordered.values, astype(values_at(row, places), dtype)));
    // Sorting without the permutation also keeps the signs of zeros.
    RC_ASSERT(same(sort(x, 0, descending), ordered.values));
    const auto count = *rc::gen::inRange<int64_t>(0, static_cast<int64_t>(row.size()) + 1);
    const Ordered some = topk(x, count, 0, descending);
    RC_ASSERT(same(some.indices, slice(ordered.indices, 0, {.stop = count})));
    RC_ASSERT(same(some.values, slice(ordered.values, 0, {.stop = count})));
  }));
}

TEST(SortProperty, SearchAsBounds) {
  EXPECT_TRUE(rc::check([] {
    std::vector<double> row = any_row();
    const std::vector<double> values = any_row();
    std::ranges::stable_sort(row, comes_before);
    std::vector<int64_t> left, right;
    for (const double value : values) {
      left.push_back(std::ranges::lower_bound(row, value, comes_before) - row.begin());
      right.push_back(std::ranges::upper_bound(row, value, comes_before) - row.begin());
    }
    const Sizes sizes{static_cast<int64_t>(values.size())};
    const Tensor sorted = any_layout_of(row), wanted = any_layout_of(values);
    RC_ASSERT(same(searchsorted(sorted, wanted), tensor(left, sizes)));
    RC_ASSERT(same(searchsorted(sorted, wanted, SearchSide::right), tensor(right, sizes)));
  }));
}

TEST(SortProperty, ArgExtremes) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<double> row = any_row();
    if (row.empty()) return;
    const auto nan = std::ranges::find_if(row, [](double x) { return std::isnan(x); });
    const bool has_nan = nan != row.end();
    const Tensor x = any_layout_of(row);
    const auto most = has_nan ? nan : std::ranges::max_element(row);
    const auto least = has_nan ? nan : std::ranges::min_element(row);
    RC_ASSERT(argmax(x).item<int64_t>() == most - row.begin());
    RC_ASSERT(argmin(x).item<int64_t>() == least - row.begin());
  }));
}

template <class F>
std::vector<double> running(const std::vector<double>& row, bool reverse, F f) {
  std::vector<double> given = row, result(row.size());
  if (reverse) std::ranges::reverse(given);
  std::inclusive_scan(given.begin(), given.end(), result.begin(), f);
  if (reverse) std::ranges::reverse(result);
  return result;
}

TEST(SortProperty, ScansAsInclusiveScan) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<double> row = any_row();
    const bool reverse = *rc::gen::arbitrary<bool>();
    const Tensor x = any_layout_of(row);
    const Sizes sizes{static_cast<int64_t>(row.size())};
    const auto check = [&](const Tensor& got, auto f) {
      RC_ASSERT(same(got, tensor(running(row, reverse, f), sizes)));
    };
    check(cumsum(x, 0, reverse), [](double a, double b) { return a + b; });
    check(cumprod(x, 0, reverse), [](double a, double b) { return a * b; });
    check(cummax(x, 0, reverse),
          [](double a, double b) { return std::isnan(a) || a >= b ? a : b; });
    check(cummin(x, 0, reverse),
          [](double a, double b) { return std::isnan(a) || a <= b ? a : b; });
  }));
}

TEST(SortProperty, ThreadsChangeNothing) {
  const Tensor lines[] = {scattered({700'000}, 1, DType::f32), scattered({300'000}, 2),
                          scattered({3, 200'000}, 3, DType::f32),
                          scattered({200'000, 3}, 4, DType::f32),
                          scattered({2000, 40}, 5, DType::f32)};
  for (const Tensor& x : lines) {
    for (int64_t axis = 0; axis < static_cast<int64_t>(x.rank()); ++axis) {
      const auto all = [&] {
        const Ordered ordered = sort_with_indices(x, axis), some = topk(x, 3, axis);
        return std::vector<Tensor>{ordered.values,
                                   ordered.indices,
                                   sort(x, axis, true),
                                   some.values,
                                   some.indices,
                                   argmax(x, axis),
                                   argmin(x, axis),
                                   cumsum(x, axis),
                                   cumsum(x, axis, true),
                                   logcumsumexp(x, axis),
                                   cummax(x, axis),
                                   cumprod(x, axis),
                                   linear_recurrence(x, x, axis)};
      };
      const auto all_by = [&](int threads) {
        const Threads team(threads);
        return all();
      };
      const std::vector<Tensor> one = all_by(1), three = all_by(3);
      for (size_t i = 0; i < one.size(); ++i) expect_same_bits(three[i], one[i]);
    }
  }
}

TEST(SortProperty, LongRows) {
  const Tensor x = astype(scattered({500'000}, 1) * 1e6, DType::f32);
  const Ordered ordered = sort_with_indices(x);
  std::vector<float> values(x.array().elements<float>().begin(), x.array().elements<float>().end());
  std::ranges::stable_sort(values);
  expect_same_bits(ordered.values, tensor(values, {500'000}));
  expect_same_bits(sort(x), ordered.values);
  const Ordered some = topk(x, 1000, 0, false);
  expect_same_bits(some.values, slice(ordered.values, 0, {.stop = 1000}));
  expect_same_bits(some.indices, slice(ordered.indices, 0, {.stop = 1000}));
  const auto most = std::ranges::max_element(x.array().elements<float>());
  EXPECT_EQ(argmax(x).item<int64_t>(), most - x.array().elements<float>().begin());
}

}  // namespace
}  // namespace plait
