#include "plait/data/permutation.h"

#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "plait/data/sample_key.h"
#include "plait/ops/random/random.h"

#include "tests/support/errors.h"

namespace plait {
namespace {

using data::Permutation;

KeyBits numbered_key(uint64_t number) {
  return data::sample_key(17, 0, static_cast<int64_t>(number));
}

std::vector<int64_t> order_of(const Permutation& permutation) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < permutation.size(); ++i) order.push_back(permutation(i));
  return order;
}

bool is_bijection(const Permutation& permutation) {
  std::vector<bool> found(static_cast<size_t>(permutation.size()));
  for (int64_t i = 0; i < permutation.size(); ++i) {
    const int64_t place = permutation(i);
    if (place < 0 || place >= permutation.size() || found[static_cast<size_t>(place)]) return false;
    found[static_cast<size_t>(place)] = true;
  }
  return true;
}

// The statistic of equal frequencies, as a number of standard deviations from its mean.
double deviation(const std::vector<int64_t>& counts) {
  const double total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), 0LL));
  const double each = total / static_cast<double>(counts.size());
  double statistic = 0;
  for (const int64_t count : counts) {
    statistic += (static_cast<double>(count) - each) * (static_cast<double>(count) - each) / each;
  }
  const double freedom = static_cast<double>(counts.size()) - 1;
  return (statistic - freedom) / std::sqrt(2 * freedom);
}

TEST(Permutation, IsABijection) {
  for (int64_t count = 0; count <= 3000; count += count < 300 ? 1 : 7) {
    ASSERT_TRUE(is_bijection(Permutation(count, numbered_key(static_cast<uint64_t>(count)))))
        << count;
  }
  for (const int64_t count : {65'535, 65'536, 65'537, 200'003}) {
    ASSERT_TRUE(is_bijection(Permutation(count, numbered_key(1)))) << count;
  }
}

TEST(Permutation, OfMoreThanMemoryHolds) {
  for (const int64_t count : {int64_t{1} << 40, INT64_MAX}) {
    const Permutation permutation(count, numbered_key(2));
    std::map<int64_t, int64_t> found;
    for (int64_t i = 0; i < 1000; ++i) {
      const int64_t place = permutation(i * (count / 1000));
      ASSERT_TRUE(place >= 0 && place < count);
      ASSERT_TRUE(found.emplace(place, i).second);
    }
    const double middle = static_cast<double>(found.rbegin()->first) / static_cast<double>(count);
    EXPECT_GT(middle, 0.98);
  }
}

TEST(Permutation, EachOrderOfFewElementsIsEquallyFrequent) {
  for (const int64_t count : {2, 3, 4, 5, 6}) {
    std::map<std::vector<int64_t>, int64_t> frequency;
    int64_t orders = 1;
    for (int64_t i = 2; i <= count; ++i) orders *= i;
    for (int64_t key = 0; key < (count < 6 ? 60 : 12) * orders; ++key) {
      ++frequency[order_of(Permutation(count, numbered_key(static_cast<uint64_t>(key))))];
    }
    ASSERT_EQ(static_cast<int64_t>(frequency.size()), orders);
    std::vector<int64_t> counts;
    for (const auto& [order, times] : frequency) counts.push_back(times);
    EXPECT_LT(std::abs(deviation(counts)), 5) << count;
  }
}

TEST(Permutation, EachElementIsEquallyFrequentAtEachPlace) {
  for (const int64_t count : {16, 31, 70}) {
    std::vector<int64_t> counts(static_cast<size_t>(count * count));
    std::vector<int64_t> steps(static_cast<size_t>(count));  // from one place to the next
    for (uint64_t key = 0; key < 2000; ++key) {
      const auto order = order_of(Permutation(count, numbered_key(key)));
      for (int64_t i = 0; i < count; ++i) {
        ++counts[static_cast<size_t>(i * count + order[static_cast<size_t>(i)])];
      }
      ++steps[static_cast<size_t>((order[1] - order[0] + count) % count)];
    }
    EXPECT_LT(std::abs(deviation(counts)), 5) << count;
    EXPECT_EQ(steps[0], 0);
    steps.erase(steps.begin());
    EXPECT_LT(std::abs(deviation(steps)), 5) << count;
  }
}

// A network over all numbers of its domain would be an even permutation for each key.
TEST(Permutation, MayBeOdd) {
  int odd_orders = 0;
  for (uint64_t key = 0; key < 400; ++key) {
    const auto order = order_of(Permutation(16, numbered_key(key)));
    int inversions = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      for (size_t j = 0; j < i; ++j) inversions += order[j] > order[i] ? 1 : 0;
    }
    odd_orders += inversions % 2;
  }
  EXPECT_NEAR(odd_orders, 200, 60);
}

TEST(Permutation, NeighboursInALargeOneAreIndependent) {
  const int64_t count = 1 << 18;
  const Permutation permutation(count, numbered_key(3));
  std::vector<int64_t> cells(32 * 32);
  for (int64_t i = 0; i + 1 < count; ++i) {
    ++cells[static_cast<size_t>(permutation(i) * 32 / count * 32 +
                                permutation(i + 1) * 32 / count)];
  }
  EXPECT_LT(std::abs(deviation(cells)), 5);
}

TEST(Permutation, DependsOnTheKeyOnly) {
  const Tensor key = random::key(5);
  EXPECT_EQ(order_of(Permutation(50, key)), order_of(Permutation(50, data::bits_of(key))));
  EXPECT_NE(order_of(Permutation(50, key)), order_of(Permutation(50, random::key(6))));
  // The same on every machine and in every version: states that were saved go on.
  EXPECT_EQ(order_of(Permutation(8, key)), (std::vector<int64_t>{7, 6, 4, 0, 5, 2, 3, 1}));
}

TEST(Permutation, RefusesWhatItDoesNotHave) {
  expect_contains(message_of<ValueError>([] { Permutation(-1, KeyBits{}); }), {"the count is -1"});
  const Permutation permutation(3, KeyBits{});
  expect_contains(message_of<IndexError>([&] { permutation(3); }), {"3 is out of range for 3"});
  expect_contains(message_of<IndexError>([&] { permutation(-1); }), {"-1 is out of range"});
  expect_contains(message_of<TypeError>([] { Permutation(3, Tensor(Array::of(1.f))); }),
                  {"expected one key, not f32[]"});
}

TEST(SampleKey, IsWhatTheOperationsCompute) {
  for (const int64_t index : {int64_t{0}, int64_t{7}, int64_t{1} << 40}) {
    const Tensor expected = random::fold_in(random::fold_in(random::key(9), 4), index);
    EXPECT_EQ(data::sample_key(9, 4, index), data::bits_of(expected));
    EXPECT_EQ(data::bits_of(data::tensor_of(data::sample_key(9, 4, index))),
              data::bits_of(expected));
  }
  EXPECT_NE(data::order_key(9, 4), data::sample_key(9, 4, 0));
}

}  // namespace
}  // namespace plait
