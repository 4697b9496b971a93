#include "plait/data/epoch_plan.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace plait {
namespace {

using data::Division;
using data::EpochPlan;
using data::Places;
using data::Progress;

// All divisions of small epochs.
template <class Check>
void for_all(const Check& check) {
  for (int64_t size = 0; size <= 13; ++size) {
    for (int64_t batch = 1; batch <= 4; ++batch) {
      for (int64_t ranks = 1; ranks <= 5; ++ranks) check(size, batch, ranks);
    }
  }
}

TEST(EpochPlan, EachSampleIsTakenOnceByOneRank) {
  for_all([](int64_t size, int64_t batch, int64_t ranks) {
    for (const bool drop_last : {false, true}) {
      for (int64_t place = 0; place <= size; ++place) {
        std::vector<int> taken(static_cast<size_t>(size));
        std::vector<int64_t> counts;
        for (int64_t rank = 0; rank < ranks; ++rank) {
          const EpochPlan plan(size, {batch, ranks, rank, drop_last}, place);
          counts.push_back(plan.count());
          for (int64_t i = 0; i < plan.count(); ++i) {
            const Places share = plan.share(plan.step(i));
            ASSERT_LE(share.count(), batch);
            for (int64_t p = share.begin; p < share.end; ++p) ++taken[static_cast<size_t>(p)];
          }
        }
        ASSERT_EQ(std::ranges::count(counts, counts[0]), ranks);
        const int64_t left = size - place, end = drop_last ? left - left % (batch * ranks) : left;
        for (int64_t p = 0; p < size; ++p) {
          ASSERT_EQ(taken[static_cast<size_t>(p)], p >= place && p < place + end ? 1 : 0)
              << size << " " << batch << " " << ranks << " " << place << " " << drop_last;
        }
      }
    }
  });
}

TEST(EpochPlan, StepsAreFullAndTheLastIsShared) {
  for_all([](int64_t size, int64_t batch, int64_t ranks) {
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const EpochPlan plan(size, {batch, ranks, rank});
      for (int64_t i = 0; i < plan.count(); ++i) {
        const Places step = plan.step(i), share = plan.share(step);
        if (step.count() == batch * ranks) {
          EXPECT_EQ(share, (Places{step.begin + rank * batch, step.begin + (rank + 1) * batch}));
        } else {
          EXPECT_EQ(i, plan.count() - 1);
          EXPECT_LE(std::abs(share.count() * ranks - step.count()), ranks);
        }
      }
    }
  });
}

TEST(EpochPlan, AnotherNumberOfRanksGoesOn) {
  std::vector<int64_t> taken;
  const auto take = [&](int64_t place, int64_t ranks, int64_t steps) {
    int64_t end = place;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const EpochPlan plan(101, {.batch_size = 3, .ranks = ranks, .rank = rank}, place);
      for (int64_t i = 0; i < std::min(steps, plan.count()); ++i) {
        const Places step = plan.step(i), share = plan.share(step);
        end = step.end;
        for (int64_t p = share.begin; p < share.end; ++p) taken.push_back(p);
      }
    }
    return end;
  };
  int64_t place = take(0, 4, 3);
  EXPECT_EQ(place, 36);
  place = take(place, 3, 2);
  place = take(place, 5, 1000);
  EXPECT_EQ(place, 101);
  std::ranges::sort(taken);
  for (int64_t i = 0; i < 101; ++i) EXPECT_EQ(taken[static_cast<size_t>(i)], i);
}

TEST(EpochPlan, StepsThatWereTakenAreLeftOut) {
  const EpochPlan plan(23, {.batch_size = 2, .ranks = 2}, 3, {19, 7, 7});
  EXPECT_EQ(plan.count(), 3);
  EXPECT_EQ(plan.step(0), (Places{3, 7}));
  EXPECT_EQ(plan.step(1), (Places{11, 15}));
  EXPECT_EQ(plan.step(2), (Places{15, 19}));
  EXPECT_EQ(EpochPlan(22, {.batch_size = 4, .drop_last = true}, 0, {20}).count(), 5);
  expect_contains(
      message_of<ValueError>([] { EpochPlan(23, {.batch_size = 3, .ranks = 2}, 3, {7}); }),
      {"place 7", "no batch begins there"});
  EXPECT_THROW(EpochPlan(23, {.batch_size = 4}, 3, {23}), ValueError);
  EXPECT_THROW(EpochPlan(23, {.batch_size = 4}, 7, {3}), ValueError);
}

TEST(EpochPlan, SizesNearTheLimit) {
  const EpochPlan plan(INT64_MAX, {.batch_size = INT64_MAX / 2, .ranks = 1000, .rank = 999});
  EXPECT_EQ(plan.count(), 1);
  EXPECT_EQ(plan.share(plan.step(0)).end, INT64_MAX);
}

TEST(EpochPlan, RefusesInvalidOptions) {
  const auto refusal = [](int64_t size, const Division& division, int64_t place = 0) {
    return message_of<ValueError>([&] { EpochPlan(size, division, place); });
  };
  expect_contains(refusal(3, {.batch_size = 0}), {"the batch size is 0, expected 1 or more"});
  expect_contains(refusal(3, {.ranks = 0}), {"the number of ranks is 0"});
  expect_contains(refusal(3, {.ranks = 2, .rank = 2}), {"the rank is 2, expected 0 to 1"});
  expect_contains(refusal(3, {.ranks = 2, .rank = -1}), {"the rank is -1"});
  expect_contains(refusal(-1, {}), {"-1 samples"});
  expect_contains(refusal(3, {}, 4), {"the place is 4, but the epoch has 3 samples"});
  expect_contains(refusal(3, {}, -1), {"the place is -1"});
}

TEST(Progress, CountsWhatIsConsumedInAnyOrder) {
  Progress progress(4);
  progress.note({8, 12});
  progress.note({16, 20});
  EXPECT_EQ(progress.place(), 4);
  EXPECT_EQ(progress.done(), (std::vector<int64_t>{8, 16}));
  progress.note({4, 8});
  EXPECT_EQ(progress.place(), 12);
  EXPECT_EQ(progress.done(), (std::vector<int64_t>{16}));
  progress.note({12, 16});
  EXPECT_EQ(progress.place(), 20);
  EXPECT_TRUE(progress.done().empty());
}

}  // namespace
}  // namespace plait
