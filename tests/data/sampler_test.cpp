#include "plait/data/sampler.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/error.h"

#include "tests/support/errors.h"

namespace plait {
namespace {

using namespace data;

std::vector<int64_t> epoch_of(const Sampler& sampler, int64_t epoch = 0) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < sampler.size(epoch); ++i) indices.push_back(sampler.at(epoch, i));
  return indices;
}

std::vector<int64_t> in_order(std::vector<int64_t> indices) {
  std::ranges::sort(indices);
  return indices;
}

std::vector<int64_t> first_indices(int64_t count) { return epoch_of(SequentialSampler(count)); }

TEST(Samplers, InOrder) {
  EXPECT_EQ(first_indices(3), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(epoch_of(SequentialSampler(3), 8), first_indices(3));
  EXPECT_TRUE(first_indices(0).empty());
  EXPECT_EQ(epoch_of(SubsetSampler({7, 2, 7})), (std::vector<int64_t>{7, 2, 7}));
}

TEST(Samplers, InRandomOrder) {
  const RandomSampler sampler(100, {.seed = 3});
  EXPECT_EQ(in_order(epoch_of(sampler)), first_indices(100));
  EXPECT_NE(epoch_of(sampler), first_indices(100));
  EXPECT_NE(epoch_of(sampler, 0), epoch_of(sampler, 1));
  EXPECT_EQ(epoch_of(sampler, 5), epoch_of(RandomSampler(100, {.seed = 3}), 5));
  EXPECT_NE(epoch_of(sampler, 5), epoch_of(RandomSampler(100, {.seed = 4}), 5));
  EXPECT_FALSE(Sampler(sampler).repeats());
  const SubsetRandomSampler subset({5, 9, 2}, 1);
  EXPECT_EQ(in_order(epoch_of(subset, 7)), (std::vector<int64_t>{2, 5, 9}));
  std::set<std::vector<int64_t>> orders;
  for (int64_t epoch = 0; epoch < 60; ++epoch) orders.insert(epoch_of(subset, epoch));
  EXPECT_EQ(orders.size(), 6u);
}

TEST(Samplers, EpochsOfAnotherSize) {
  EXPECT_EQ(epoch_of(RandomSampler(50, {.num_samples = 20})), [&] {
    auto all = epoch_of(RandomSampler(50));
    all.resize(20);
    return all;
  }());
  const RandomSampler longer(50, {.num_samples = 120});
  const auto indices = epoch_of(longer);
  EXPECT_EQ(in_order({indices.begin(), indices.begin() + 50}), first_indices(50));
  EXPECT_EQ(in_order({indices.begin() + 50, indices.begin() + 100}), first_indices(50));
  EXPECT_FALSE(std::equal(indices.begin(), indices.begin() + 50, indices.begin() + 50));
  EXPECT_TRUE(longer.repeats());
}

TEST(Samplers, WithReplacement) {
  const RandomSampler sampler(10, {.replacement = true, .num_samples = 100'000});
  std::vector<int> counts(10);
  for (const int64_t index : epoch_of(sampler)) ++counts[static_cast<size_t>(index)];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
  EXPECT_TRUE(sampler.repeats());
}

TEST(Samplers, ByWeights) {
  const std::vector<double> weights{0, 1, 0, 3, 4, 0};
  const WeightedRandomSampler sampler(weights, 80'000, {.seed = 2});
  std::vector<int> counts(6);
  for (const int64_t index : epoch_of(sampler)) ++counts[static_cast<size_t>(index)];
  EXPECT_EQ(counts[0] + counts[2] + counts[5], 0);
  EXPECT_NEAR(counts[1], 10'000, 500);
  EXPECT_NEAR(counts[3], 30'000, 700);
  EXPECT_NEAR(counts[4], 40'000, 700);
  EXPECT_NE(epoch_of(sampler, 0), epoch_of(sampler, 1));
  EXPECT_TRUE(sampler.repeats());
}

TEST(Samplers, ByWeightsWithoutReplacement) {
  const std::vector<double> weights{1, 0, 2, 1e-30, 5};
  const WeightedRandomSampler all(weights, 4, {.replacement = false});
  std::vector<int> first(5), second(5);
  for (int64_t epoch = 0; epoch < 8000; ++epoch) {
    const auto indices = epoch_of(all, epoch);
    ASSERT_EQ(in_order(indices), (std::vector<int64_t>{0, 2, 3, 4}));
    ++first[static_cast<size_t>(indices[0])];
    ++second[static_cast<size_t>(indices[1])];
  }
  EXPECT_NEAR(first[0], 1000, 150);
  EXPECT_NEAR(first[2], 2000, 200);
  EXPECT_NEAR(first[4], 5000, 200);
  // After the others with their probabilities: 2/8 · 1/6 + 5/8 · 1/3.
  EXPECT_NEAR(second[0], 8000 * (2. / 8 / 6 + 5. / 8 / 3), 200);
  EXPECT_FALSE(all.repeats());
  EXPECT_EQ(all.at(3, 1), epoch_of(all, 3)[1]);
}

TEST(Samplers, Distributed) {
  for (int64_t size = 0; size <= 12; ++size) {
    for (int64_t ranks = 1; ranks <= 5; ++ranks) {
      for (const bool drop_last : {false, true}) {
        std::vector<int64_t> all;
        std::set<int64_t> sizes;
        for (int64_t rank = 0; rank < ranks; ++rank) {
          const DistributedSampler sampler(SequentialSampler(size), ranks, rank, drop_last);
          const auto indices = epoch_of(sampler);
          sizes.insert(static_cast<int64_t>(indices.size()));
          all.insert(all.end(), indices.begin(), indices.end());
        }
        EXPECT_EQ(sizes.size(), 1u);
        const std::set<int64_t> different(all.begin(), all.end());
        const int64_t covered = drop_last ? size - size % ranks : size;
        EXPECT_EQ(static_cast<int64_t>(different.size()), covered) << size << " " << ranks;
      }
    }
  }
}

TEST(Samplers, OfYourOwn) {
  struct Backwards {
    int64_t size(int64_t epoch) const { return epoch + 1; }
    int64_t at(int64_t epoch, int64_t place) const { return epoch - place; }
  };
  EXPECT_EQ(epoch_of(Backwards{}, 2), (std::vector<int64_t>{2, 1, 0}));
  EXPECT_FALSE(Sampler(Backwards{}).repeats());
}

TEST(Samplers, RefuseInvalidOptions) {
  const auto refusal = [](const auto& make) { return message_of<Error>(make); };
  expect_contains(refusal([] { SequentialSampler(-1); }), {"SequentialSampler: the count is -1"});
  expect_contains(refusal([] { RandomSampler(0, {.num_samples = 3}); }),
                  {"3 samples of an empty dataset"});
  expect_contains(refusal([] { RandomSampler(3, {.num_samples = -3}); }), {"num_samples is -3"});
  expect_contains(refusal([] { SubsetSampler({1, -2}); }), {"an index is -2"});
  const auto weighted = [](std::vector<double> weights, int64_t samples, bool replacement) {
    return message_of<ValueError>(
        [&] { WeightedRandomSampler(weights, samples, {.replacement = replacement}); });
  };
  expect_contains(weighted({1, -1}, 1, true), {"weight 1 is -1"});
  expect_contains(weighted({1, std::nan("")}, 1, true), {"weight 1 is nan"});
  expect_contains(weighted({1, 1e308, 1e308}, 1, true), {"weight 2 is 1e+308"});
  expect_contains(weighted({0, 0}, 1, true), {"0 weights are positive, but 1 samples"});
  expect_contains(weighted({}, 1, true), {"0 weights are positive"});
  expect_contains(weighted({1, 0, 1}, 3, false), {"2 weights are positive, but 3 samples"});
  EXPECT_TRUE(epoch_of(WeightedRandomSampler({}, 0)).empty());
  for (const Sampler& sampler :
       {Sampler(SequentialSampler(3)), Sampler(RandomSampler(3)), Sampler(SubsetSampler({1, 2, 3})),
        Sampler(SubsetRandomSampler({1, 2, 3})),
        Sampler(WeightedRandomSampler(std::vector<double>{1., 1.}, 3)),
        Sampler(DistributedSampler(SequentialSampler(3), 1, 0))}) {
    EXPECT_THROW(sampler.at(0, 3), IndexError);
    EXPECT_THROW(sampler.at(0, -1), IndexError);
  }
}

}  // namespace
}  // namespace plait
