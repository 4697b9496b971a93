#include "plait/data/loader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "plait/ops/arrays/create.h"
#include "plait/ops/elementwise/elementwise.h"

#include "tests/support/errors.h"

namespace plait {
namespace {

using namespace data;
using std::chrono::milliseconds;

using Batches = std::vector<std::vector<int64_t>>;

// Samples are their numbers, and a random number from their key. `each` may wait or throw.
struct Numbers {
  int64_t count = 0;
  std::function<void(int64_t)> each = [](int64_t) {};

  int64_t size() const { return count; }
  std::tuple<Tensor, Tensor> at(int64_t index, const Tensor& key) const {
    each(index);
    return {full({}, index), random::bits(key, {}, DType::u32)};
  }
};

std::vector<int64_t> numbers_in(const Tensor& x) {
  const auto elements = x.array().contiguous().elements<int64_t>();
  return {elements.begin(), elements.end()};
}
std::vector<int64_t> drawn_in(const Tensor& x) {
  const Array converted = x.array().converted(DType::i64);
  return numbers_in(Tensor(converted));
}

// The rest of the epoch: numbers, then what was drawn for them.
template <class L>
Batches rest_of(L& loader) {
  Batches batches;
  for (const auto& [x, drawn] : loader) {
    std::vector<int64_t> batch = numbers_in(x), more = drawn_in(drawn);
    batch.insert(batch.end(), more.begin(), more.end());
    batches.push_back(batch);
  }
  return batches;
}

TEST(Loader, HasEachSampleOnceInEachEpoch) {
  Loader loader(TensorDataset(arange(10)), {.batch_size = 4, .shuffle = true});
  EXPECT_EQ(loader.size(), 3);
  std::vector<std::vector<int64_t>> epochs;
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<int64_t> all;
    for (const Tensor& batch : loader) {
      const auto numbers = numbers_in(batch);
      all.insert(all.end(), numbers.begin(), numbers.end());
    }
    epochs.push_back(all);
    std::ranges::sort(all);
    EXPECT_EQ(all, numbers_in(arange(10)));
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[1], epochs[2]);
  EXPECT_EQ(loader.state(), (LoaderState{.epoch = 3}));
}

TEST(Loader, BatchesAreTheSameForAnyNumberOfWorkers) {
  const Numbers dataset{37};
  Loader plain(dataset, {.batch_size = 4, .shuffle = true, .seed = 5});
  const Batches first = rest_of(plain), second = rest_of(plain);
  EXPECT_EQ(first.size(), 10u);
  EXPECT_NE(first, second);
  for (const int workers : {1, 3, 20}) {  // if 20, each makes one sample at a time
    for (const int64_t prefetch : {1, 2, 9}) {
      Loader loader(
          dataset,
          {.batch_size = 4, .shuffle = true, .seed = 5, .workers = workers, .prefetch = prefetch});
      EXPECT_EQ(rest_of(loader), first) << workers << " " << prefetch;
      EXPECT_EQ(rest_of(loader), second) << workers << " " << prefetch;
    }
  }
  Loader other(dataset, {.batch_size = 4, .shuffle = true, .seed = 6});
  EXPECT_NE(rest_of(other), first);
}

TEST(Loader, KeysAreThoseOfSeedEpochAndIndex) {
  Loader loader(Numbers{5}, {.batch_size = 5, .shuffle = true, .seed = 8});
  (void)rest_of(loader);
  const std::vector<int64_t> batch = rest_of(loader)[0];  // batch of epoch 1
  for (size_t i = 0; i < 5; ++i) {
    const Tensor key = random::fold_in(random::fold_in(random::key(8), 1), batch[i]);
    EXPECT_EQ(batch[5 + i], random::bits(key, {}, DType::u32).item<int64_t>());
  }
}

TEST(Loader, RepeatedSamplesDrawDifferently) {
  Loader loader(Numbers{1}, {.batch_size = 8,
                             .sampler = RandomSampler(1, {.replacement = true, .num_samples = 8})});
  const std::vector<int64_t> batch = rest_of(loader)[0];
  EXPECT_EQ(std::set<int64_t>(batch.begin() + 8, batch.end()).size(), 8u);
}

TEST(Loader, GoesOnAtEveryPlace) {
  const Numbers dataset{13};
  for (const int workers : {0, 2, 6}) {
    const LoaderOptions options{.batch_size = 3, .shuffle = true, .seed = 2, .workers = workers};
    Loader whole(dataset, options);
    const Batches first = rest_of(whole), second = rest_of(whole);
    for (size_t taken = 0; taken <= first.size(); ++taken) {
      Loader begun(dataset, options);
      LoaderState state = begun.state();
      size_t count = 0;
      if (taken > 0) {
        for ([[maybe_unused]] const auto& batch : begun) {
          state = begun.state();
          if (++count == taken) break;
        }
      }
      EXPECT_EQ(state.place, std::min<int64_t>(13, static_cast<int64_t>(taken) * 3));
      Loader again(dataset, options);
      again.seek(state_of(tensors_of(state)));
      EXPECT_EQ(rest_of(again),
                Batches(first.begin() + static_cast<ptrdiff_t>(taken), first.end()));
      EXPECT_EQ(rest_of(again), second);
    }
  }
}

TEST(Loader, TheStateHasTheSeed) {
  Loader one(Numbers{9}, {.batch_size = 2, .shuffle = true, .seed = 3, .workers = 2});
  Loader other(Numbers{9}, {.batch_size = 2, .shuffle = true, .seed = 4});
  other.seek({.seed = 3, .epoch = 5});
  one.seek({.seed = 3, .epoch = 5});
  EXPECT_EQ(rest_of(one), rest_of(other));
}

TEST(Loader, AnAbandonedEpochIsNotContinued) {
  Loader loader(Numbers{9}, {.batch_size = 2, .workers = 2});
  for ([[maybe_unused]] const auto& batch : loader) break;
  EXPECT_EQ(loader.state(), (LoaderState{.place = 2, .size = 9}));
  EXPECT_EQ(rest_of(loader).size(), 5u);
  EXPECT_EQ(loader.state(), (LoaderState{.epoch = 2}));
  for ([[maybe_unused]] const auto& batch : loader) break;
  loader.seek(loader.state());
  EXPECT_EQ(rest_of(loader).size(), 4u);
  EXPECT_EQ(loader.state().epoch, 3);
}

TEST(Loader, AnEpochBegunOnFourRanksEndsOnThree) {
  const Numbers dataset{50};
  std::multiset<int64_t> seen;
  std::set<std::pair<int64_t, int64_t>> drawn;
  LoaderState state{.seed = 1};
  const auto run = [&](int64_t ranks, int steps) {
    LoaderState after;
    std::set<size_t> counts;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      Loader loader(dataset, {.batch_size = 3,
                              .shuffle = true,
                              .seed = 1,
                              .workers = static_cast<int>(rank % 3),
                              .ranks = ranks,
                              .rank = rank});
      loader.seek(state);
      size_t count = 0;
      for (const auto& [x, more] : loader) {
        const auto numbers = numbers_in(x), draws = drawn_in(more);
        seen.insert(numbers.begin(), numbers.end());
        for (size_t i = 0; i < numbers.size(); ++i) drawn.emplace(numbers[i], draws[i]);
        after = loader.state();
        if (++count == static_cast<size_t>(steps)) break;
      }
      counts.insert(count);
    }
    EXPECT_EQ(counts.size(), 1u);
    state = after;
  };
  run(4, 2);
  EXPECT_EQ(state.place, 24);
  run(3, 1000);
  EXPECT_EQ(state.place, 50);
  EXPECT_EQ(std::vector<int64_t>(seen.begin(), seen.end()), numbers_in(arange(50)));
  std::set<std::pair<int64_t, int64_t>> expected;
  Loader alone(dataset, {.shuffle = true, .seed = 1});
  for (const auto& batch : rest_of(alone)) expected.emplace(batch[0], batch[1]);
  EXPECT_EQ(drawn, expected);
}

TEST(Loader, SizesOfNothingAndOfOne) {
  for (const int workers : {0, 2}) {
    for (const int64_t size : {0, 1}) {
      Loader loader(Numbers{size}, {.batch_size = 4, .workers = workers});
      EXPECT_EQ(loader.size(), size);
      EXPECT_EQ(rest_of(loader).size(), static_cast<size_t>(size));
      EXPECT_EQ(loader.state().epoch, 1);
      Loader dropping(Numbers{size}, {.batch_size = 4, .drop_last = true, .workers = workers});
      EXPECT_EQ(rest_of(dropping).size(), 0u);
    }
  }
}

TEST(Loader, ARankWithoutSamplesGetsAnEmptyBatch) {
  for (const int workers : {0, 1, 4}) {
    Loader loader(Numbers{2}, {.batch_size = 2, .workers = workers, .ranks = 3, .rank = 2});
    EXPECT_EQ(loader.size(), 1);
    int count = 0;
    for (const auto& [x, more] : loader) {
      ++count;
      EXPECT_EQ(x.type().text(), "i64[0]");
      EXPECT_EQ(more.type().text(), "u32[0]");
    }
    EXPECT_EQ(count, 1);
  }
}

TEST(Loader, BatchesMayBePadded) {
  for (const int workers : {0, 1, 8}) {
    std::vector<std::string> found;
    for (int64_t rank = 0; rank < 3; ++rank) {
      Loader loader(TensorDataset(arange(8)),
                    {.batch_size = 2, .workers = workers, .ranks = 3, .rank = rank});
      for (const auto& [batch, mask] : loader.padded()) found.push_back(batch.text() + mask.text());
    }
    EXPECT_EQ(
        found,
        (std::vector<std::string>{
            "[0 1] : i64[2][ True  True] : bool[2]", "[6 6] : i64[2][ True False] : bool[2]",
            "[2 3] : i64[2][ True  True] : bool[2]", "[7 7] : i64[2][ True False] : bool[2]",
            "[4 5] : i64[2][ True  True] : bool[2]", "[6 6] : i64[2][False False] : bool[2]"}));
  }
}

TEST(Loader, YourOwnCollation) {
  const auto lengths = [](std::vector<Tensor> samples) { return samples; };
  for (const int workers : {0, 2, 9}) {
    Loader loader(std::vector<Tensor>{zeros({1}), zeros({2}), zeros({3})},
                  {.batch_size = 2, .workers = workers}, lengths);
    std::vector<size_t> sizes;
    for (const std::vector<Tensor>& batch : loader) sizes.push_back(batch.size());
    EXPECT_EQ(sizes, (std::vector<size_t>{2, 1}));
    for (const auto& [batch, mask] : loader.padded()) EXPECT_EQ(batch.size(), 2u);
  }
  Loader padding(std::vector<Tensor>{zeros({1}), zeros({3})}, {.batch_size = 2},
                 [](const std::vector<Tensor>& samples) { return pad_sequence(samples); });
  for (const Tensor& batch : padding) EXPECT_EQ(batch.type().text(), "f32[3, 2]");
}

// ---- Failures.

TEST(Loader, AnErrorNamesTheSampleAndIsPassedBy) {
  const Numbers dataset{12, [](int64_t index) {
                          if (index == 5) throw ValueError("no such colour");
                        }};
  for (const int workers : {0, 2, 7}) {
    Loader loader(dataset, {.batch_size = 2, .workers = workers});
    auto batch = loader.begin();
    std::vector<int64_t> found;
    std::string message;
    while (batch != loader.end()) {
      found.push_back(numbers_in(std::get<0>(*batch))[0]);
      try {
        ++batch;
      } catch (const ValueError& error) {
        message = error.message();
        EXPECT_EQ(loader.state().place, 6);
        ++batch;
      }
    }
    EXPECT_EQ(message, "sample 5: no such colour");
    EXPECT_EQ(found, (std::vector<int64_t>{0, 2, 6, 8, 10}));
    EXPECT_THROW(rest_of(loader), ValueError);
    EXPECT_EQ(loader.state().epoch, 1);
  }
}

TEST(Loader, OtherExceptionsAreErrorsThatNameTheSample) {
  const Numbers dataset{4, [](int64_t index) {
                          if (index == 3) throw std::out_of_range("mine");
                        }};
  for (const int workers : {0, 1, 3}) {
    Loader loader(dataset, {.batch_size = 2, .workers = workers});
    try {
      rest_of(loader);
      ADD_FAILURE() << "no exception";
    } catch (const ValueError& error) {
      EXPECT_EQ(error.message(), "sample 3: mine");
      EXPECT_THROW(std::rethrow_if_nested(error), std::out_of_range);
    }
  }
}

TEST(Loader, OtherExceptionsAreRethrownUnchanged) {
  const Numbers dataset{4, [](int64_t index) {
                          if (index == 1) throw 7;
                          if (index == 3) throw std::bad_alloc();
                        }};
  for (const int workers : {0, 2}) {
    Loader loader(dataset, {.batch_size = 1, .workers = workers});
    auto batch = loader.begin();
    EXPECT_THROW(++batch, int);
    ++batch;
    EXPECT_THROW(++batch, std::bad_alloc);
  }
}

TEST(Loader, SamplesThatDoNotFitAreNamed) {
  for (const int workers : {0, 1, 4}) {
    Loader loader(std::vector<Tensor>{zeros({2}), zeros({2}), zeros({2}), zeros({3})},
                  {.batch_size = 2, .workers = workers});
    expect_contains(message_of<ShapeError>([&] {
                      for ([[maybe_unused]] const Tensor& batch : loader) continue;
                    }),
                    {"sample 3: it has a tensor f32[3]"});
  }
}

TEST(Loader, WaitsNoLongerThanAsked) {
  const auto may_end = std::make_shared<std::atomic<bool>>(false);
  const Numbers dataset{8, [may_end](int64_t index) {
                          while (index == 2 && !*may_end) std::this_thread::yield();
                        }};
  Loader loader(dataset, {.batch_size = 2, .workers = 2, .timeout = 0.5});
  // The loader waits for its workers when it is destroyed, also if an expectation throws.
  const std::shared_ptr<void> at_end(nullptr, [may_end](void*) { *may_end = true; });
  auto batch = loader.begin();
  expect_contains(what_of<IoError>([&] { ++batch; }), {"not ready after 0.5 s", "longer timeout"});
  *may_end = true;
  std::vector<int64_t> found;
  for (++batch; batch != loader.end(); ++batch) {
    found.push_back(numbers_in(std::get<0>(*batch))[0]);
  }
  EXPECT_EQ(found, (std::vector<int64_t>{2, 4, 6}));
}

TEST(Loader, WithoutOrderASlowBatchIsOvertaken) {
  const auto may_end = std::make_shared<std::atomic<bool>>(false);
  const Numbers dataset{20, [may_end](int64_t index) {
                          while (index == 3 && !*may_end) std::this_thread::yield();
                        }};
  const LoaderOptions options{.batch_size = 2, .workers = 2, .in_order = false};
  Loader loader(dataset, options);
  std::vector<int64_t> found;
  LoaderState state;
  for (const auto& [x, more] : loader) {
    found.push_back(numbers_in(x)[0]);
    if (found.size() == 6) state = loader.state();
    if (found.size() == 8) *may_end = true;
  }
  EXPECT_GE(std::ranges::find(found, 2) - found.begin(), 8);
  EXPECT_EQ(state.place, 2);
  EXPECT_EQ(state.done.size(), 5u);
  std::vector<int64_t> rest(found.begin() + 6, found.end()), again;
  Loader other(dataset, options);
  other.seek(state);
  for (const auto& [x, more] : other) again.push_back(numbers_in(x)[0]);
  std::ranges::sort(rest);
  std::ranges::sort(again);
  EXPECT_EQ(again, rest);
  EXPECT_EQ(other.state(), (LoaderState{.epoch = 1}));
  Loader wider(dataset, {.batch_size = 4});
  expect_contains(message_of<ValueError>([&] { wider.seek(state); }),
                  {"batch size 2", "batch size 4"});
  EXPECT_EQ(wider.state(), LoaderState());
}

TEST(Loader, WithoutOrderTheStateIsOfItsRank) {
  const Numbers dataset{24};
  const auto options_of = [](int64_t ranks, int64_t rank) {
    return LoaderOptions{.batch_size = 2, .ranks = ranks, .rank = rank, .in_order = false};
  };
  Loader loader(dataset, options_of(3, 1));
  const auto of_this_rank = [&](LoaderState state) {
    state = state_of(tensors_of(state));
    Loader(dataset, options_of(3, 1)).seek(state);
    for (const auto& [ranks, rank] : {std::pair(3, 0), std::pair(2, 1), std::pair(4, 1)}) {
      Loader other(dataset, options_of(ranks, rank));
      expect_contains(what_of<ValueError>([&] { other.seek(state); }), {"rank 1 of 3", "in_order"});
    }
  };
  auto batch = loader.begin();
  of_this_rank(loader.state());
  // An ordered loader goes on, whose places differ from those of other ranks still.
  Loader ordered(dataset, {.batch_size = 2, .ranks = 3, .rank = 1});
  ordered.seek(loader.state());
  auto next = ordered.begin();
  of_this_rank(ordered.state());
  while (batch != loader.end()) ++batch;
  Loader(dataset, options_of(4, 2)).seek(loader.state());  // the next epoch
}

// ---- Threads.

// The threads of loaders in this process.
int loader_threads() {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    std::getline(file, name);
    count += name.starts_with("plait-data") ? 1 : 0;
  }
  return count;
}

TEST(Loader, LeavesNoThread) {
  for (int i = 0; i < 60; ++i) {  // the last ones end by themselves
    Loader loader(Numbers{100}, {.batch_size = 2, .workers = 3});
    int count = 0;
    for ([[maybe_unused]] const auto& batch : loader) {
      if (++count > i) break;
    }
    if (i == 0) {
      EXPECT_GT(loader_threads(), 0);
    }
  }
  // A thread that was waited for may be listed for a moment.
  for (int i = 0; i < 100 && loader_threads() > 0; ++i) ::usleep(10'000);
  EXPECT_EQ(loader_threads(), 0);
}

TEST(Loader, IsMovedWhileItsThreadsWork) {
  Loader loader(Numbers{40}, {.batch_size = 2, .workers = 2});
  auto batch = loader.begin();
  Loader moved = std::move(loader);
  int count = 0;
  for (; batch != moved.end(); ++batch) ++count;
  EXPECT_EQ(count, 20);
}

TEST(Loader, TheFirstBatchIsThereSoon) {
  Loader loader(Numbers{1000}, {.batch_size = 8, .workers = 2});
  const auto begin = std::chrono::steady_clock::now();
  (void)loader.begin();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(2000));  // 50 if alone
}

TEST(Loader, ThousandsOfBatchesLeakNothing) {
  Loader loader(TensorDataset(zeros({5000, 16})), {.workers = 2});
  const auto live = [] { return memory_statistics().live_bytes; };
  for ([[maybe_unused]] const Tensor& batch : loader) continue;
  const int64_t before = live();
  for ([[maybe_unused]] const Tensor& batch : loader) continue;
  EXPECT_LE(live() - before, 4096);
}

TEST(Loader, RefusesInvalidOptions) {
  const auto refusal = [](const LoaderOptions& options) {
    return message_of<ValueError>([&] { Loader(Numbers{5}, options); });
  };
  expect_contains(refusal({.batch_size = 0}), {"the batch size is 0, expected 1 or more"});
  expect_contains(refusal({.workers = -1}), {"the number of workers is -1, expected 0 to 1024"});
  expect_contains(refusal({.prefetch = 0}), {"batches ahead is 0"});
  expect_contains(refusal({.ranks = 2, .rank = 2}), {"the rank is 2"});
  expect_contains(refusal({.timeout = -1}), {"the timeout is -1 s"});
  expect_contains(refusal({.shuffle = true, .sampler = SequentialSampler(5)}),
                  {"leave out shuffle"});
  Loader loader(Numbers{5});
  const auto seek = [&](const LoaderState& state) {
    return message_of<ValueError>([&] { loader.seek(state); });
  };
  expect_contains(seek({.place = 6}), {"the place is 6, but the epoch has 5 samples"});
  expect_contains(seek({.place = 2, .size = 7}), {"an epoch of 7 samples, at place 2"});
  expect_contains(seek({.epoch = -1}), {"the epoch is -1"});
  EXPECT_EQ(loader.state(), LoaderState{});
}

}  // namespace
}  // namespace plait
