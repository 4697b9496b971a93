// Sorting of words in any number of parts, if there are instructions for that.
#include "plait/cpu/inside/order/word_sort.h"

#include <algorithm>

#include "tests/cpu/elementwise_support.h"
#include "tests/support/threads.h"

namespace plait::elementwise_test {
namespace {

std::vector<uint32_t> many_words(int64_t count, uint64_t different, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> words;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = random();
    words.push_back(static_cast<uint32_t>(different == 0 ? bits : bits % different));
  }
  return words;
}

void check_sort(std::vector<uint32_t> words, int threads) {
  std::vector<uint32_t> expected = words;
  std::ranges::sort(expected);
  std::vector<uint32_t> spare(words.size());
  const WordSorter sorter(cpu::word_sort(), threads);
  const uint32_t* sorted =
      sorter.sort(words.data(), spare.data(), static_cast<int64_t>(words.size()));
  ASSERT_TRUE(std::ranges::equal(std::span(sorted, words.size()), expected))
      << words.size() << " words by " << threads << " threads";
}

void check_sizes(std::span<const int64_t> counts) {
  if (cpu::word_sort() == nullptr) return;
  for (const int64_t count : counts) {
    for (const int threads : {1, 2, 3, 8}) {
      for (const uint64_t different : {0, 1, 2, 7}) {
        std::vector<uint32_t> words = many_words(count, different, 3);
        check_sort(words, threads);
        if (testing::Test::HasFatalFailure()) return;
      }
      std::vector<uint32_t> ordered = many_words(count, 0, 4);
      std::ranges::sort(ordered);
      check_sort(ordered, threads);
      std::ranges::reverse(ordered);
      check_sort(ordered, threads);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(WordSort, EveryLevelAndSize) {
  std::vector<int64_t> counts = {257, 300, 511, 1000, 4096, 70'001};
  for (int64_t count = 0; count < 140; count += count < 40 ? 1 : 9) counts.push_back(count);
  const Threads team(2);
  for (const std::string& level : cpu_levels()) {
    const AtLevel at(level);
    check_sizes(counts);
  }
}

}  // namespace
}  // namespace plait::elementwise_test
