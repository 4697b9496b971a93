#include "plait/data/stream.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/data/loader.h"
#include "plait/ops/arrays/create.h"

#include "tests/support/errors.h"

namespace plait {
namespace {

using namespace data;

// 0, 1, …, count - 1, and a failure at one of them.
struct Counter {
  int64_t count = 0;
  int64_t bad = -1;
  int64_t following = 0;

  std::optional<Tensor> next() {
    if (following >= count) return std::nullopt;
    const int64_t number = following++;
    if (number == bad) throw ParseError("unreadable");
    return full({}, number);
  }
  std::vector<int64_t> position() const { return {following}; }
  void seek(std::span<const int64_t> position) { following = position.empty() ? 0 : position[0]; }
};

std::vector<int64_t> integers_in(const Tensor& x) {
  const auto elements = x.array().contiguous().elements<int64_t>();
  return {elements.begin(), elements.end()};
}

template <class L>
std::vector<std::vector<int64_t>> batches_of(L& loader) {
  std::vector<std::vector<int64_t>> batches;
  for (const Tensor& batch : loader) batches.push_back(integers_in(batch));
  return batches;
}

template <class L>
std::vector<int64_t> all_of(L& loader) {
  std::vector<int64_t> all;
  for (const auto& batch : batches_of(loader)) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

TEST(Streams, AreReadInOrder) {
  for (const int workers : {0, 1, 4}) {
    Loader loader(Counter{11}, {.batch_size = 3, .workers = workers, .in_order = false});
    for (int epoch = 0; epoch < 3; ++epoch) {
      EXPECT_EQ(batches_of(loader),
                (std::vector<std::vector<int64_t>>{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10}}));
    }
    EXPECT_EQ(loader.state(), (LoaderState{.epoch = 3}));
    Loader dropping(Counter{11}, {.batch_size = 3, .drop_last = true, .workers = workers});
    EXPECT_EQ(batches_of(dropping).size(), 3u);
    Loader empty(Counter{0}, {.workers = workers});
    EXPECT_EQ(batches_of(empty).size(), 0u);
  }
}

TEST(Streams, SaveTheirPosition) {
  for (const int workers : {0, 3}) {
    for (int64_t taken = 1; taken <= 4; ++taken) {
      Loader loader(Counter{11}, {.batch_size = 3, .workers = workers});
      int64_t count = 0;
      for ([[maybe_unused]] const Tensor& batch : loader) {
        if (++count == taken) break;
      }
      const int64_t place = std::min<int64_t>(11, 3 * taken);
      EXPECT_EQ(loader.state(), (LoaderState{.place = place, .source = {place}}));
      Loader again(Counter{11}, {.batch_size = 3, .workers = workers});
      again.seek(state_of(tensors_of(loader.state())));
      const auto rest = all_of(again);
      EXPECT_EQ(static_cast<int64_t>(rest.size()), 11 - place);
      EXPECT_EQ(rest.empty() ? place : rest[0], place);
      EXPECT_EQ(all_of(again).size(), 11u);
    }
  }
}

TEST(Streams, AreDividedAmongRanks) {
  for (int64_t size = 0; size < 14; ++size) {
    for (int64_t ranks = 1; ranks <= 4; ++ranks) {
      std::vector<int64_t> all;
      std::set<size_t> counts;
      for (int64_t rank = 0; rank < ranks; ++rank) {
        Loader loader(
            Counter{size},
            {.batch_size = 2, .workers = static_cast<int>(size % 3), .ranks = ranks, .rank = rank});
        const auto batches = batches_of(loader);
        counts.insert(batches.size());
        for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
      }
      std::ranges::sort(all);
      EXPECT_EQ(all, integers_in(arange(size)));
      EXPECT_EQ(counts.size(), 1u);
    }
  }
}

TEST(Streams, AreFinishedBySeveralThreads) {
  const auto with_key = [](const Tensor& x, const Tensor& key) {
    return std::pair(x, random::bits(key, {}, DType::u32));
  };
  Loader plain(mapped(Counter{20}, with_key), {.batch_size = 4, .seed = 6});
  std::vector<std::string> expected;
  for (const auto& [x, drawn] : plain) expected.push_back(x.text() + drawn.text());
  Loader loader(mapped(Counter{20}, with_key), {.batch_size = 4, .seed = 6, .workers = 3});
  std::vector<std::string> found;
  for (const auto& [x, drawn] : loader) found.push_back(x.text() + drawn.text());
  EXPECT_EQ(found, expected);
  const Tensor key = random::fold_in(random::fold_in(random::key(6), 1), 0);
  for (const auto& [x, drawn] : plain) {
    EXPECT_EQ(drawn.array().contiguous().elements<uint32_t>()[0],
              random::bits(key, {}, DType::u32).item<uint32_t>());
    break;
  }
  const auto plus_one = mapped(Counter{3}, [](const Tensor& x) { return x; });
  Loader chained(ChainDataset(std::vector{plus_one, plus_one}), {.batch_size = 4});
  EXPECT_EQ(all_of(chained), (std::vector<int64_t>{0, 1, 2, 0, 1, 2}));
}

TEST(Streams, OneAfterAnother) {
  const ChainDataset chain(std::vector<Counter>{{3}, {0}, {4}});
  for (size_t taken = 0; taken <= 7; ++taken) {
    auto begun = chain;
    for (size_t i = 0; i < taken; ++i) (void)begun.next();
    auto again = chain;
    again.seek(begun.position());
    std::vector<int64_t> rest;
    while (auto raw = again.next()) rest.push_back(again.finish(*raw, {}).item<int64_t>());
    const std::vector<int64_t> all{0, 1, 2, 0, 1, 2, 3};
    EXPECT_EQ(rest, std::vector<int64_t>(all.begin() + static_cast<ptrdiff_t>(taken), all.end()));
  }
  auto seeking = chain;
  EXPECT_THROW(seeking.seek(std::vector<int64_t>{9}), ValueError);
  EXPECT_THROW(seeking.seek(std::vector<int64_t>{-1}), ValueError);
}

TEST(Streams, OfADataset) {
  Loader loader(DatasetStream(TensorDataset(arange(5))), {.batch_size = 2, .workers = 2});
  EXPECT_EQ(all_of(loader), integers_in(arange(5)));
  loader.seek({.place = 2, .source = {2}});
  EXPECT_EQ(all_of(loader), (std::vector<int64_t>{2, 3, 4}));
  loader.seek({.source = {-2}});
  EXPECT_THROW(all_of(loader), ValueError);
}

TEST(Streams, FailuresNameTheSampleAndArePassedBy) {
  for (const int workers : {0, 1, 3}) {
    Loader loader(Counter{11, 4}, {.batch_size = 3, .workers = workers});
    auto batch = loader.begin();
    expect_contains(message_of<ParseError>([&] { ++batch; }), {"sample 4: unreadable"});
    EXPECT_EQ(loader.state(), (LoaderState{.place = 5, .source = {5}}));
    std::vector<int64_t> found;
    for (++batch; batch != loader.end(); ++batch) {
      for (const int64_t number : integers_in(*batch)) found.push_back(number);
    }
    EXPECT_EQ(found, (std::vector<int64_t>{5, 6, 7, 8, 9, 10}));
  }
  const auto refusing = [](const Tensor& x) {
    if (x.item<int64_t>() == 2) throw ValueError("not this");
    return x;
  };
  Loader loader(mapped(Counter{6}, refusing), {.batch_size = 2, .workers = 2});
  auto batch = loader.begin();
  expect_contains(message_of<ValueError>([&] { ++batch; }), {"sample 2: not this"});
  EXPECT_EQ(loader.state().place, 4);
  ++batch;
  EXPECT_EQ(integers_in(*batch), (std::vector<int64_t>{4, 5}));
}

TEST(Streams, HaveNoOtherOrder) {
  expect_contains(message_of<ValueError>([] { Loader(Counter{3}, {.shuffle = true}); }),
                  {"a stream has its own order"});
  EXPECT_THROW(Loader(Counter{3}, {.sampler = SequentialSampler(3)}), ValueError);
}

}  // namespace
}  // namespace plait
