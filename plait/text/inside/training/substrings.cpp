#include "plait/text/inside/training/substrings.h"

#include <algorithm>

namespace plait::text {
namespace {

// The suffixes of all words in alphabetical order, as far as their first characters decide it.
class SuffixOrder {
 public:
  SuffixOrder(const std::u32string& words, size_t most) : words_(words), most_(most) {
    for (size_t i = 0; i < words.size(); ++i) {
      if (words[i] != 0) begins_.push_back(i);
    }
    std::ranges::sort(begins_, [&](size_t a, size_t b) { return is_before(a, b); });
  }

  size_t size() const { return begins_.size(); }
  size_t begin(size_t i) const { return begins_[i]; }
  // Characters that a suffix has in common with the next one, with the 0 if both end there.
  size_t common_with_next(size_t i) const { return common_prefix(begins_[i], begins_[i + 1]); }

 private:
  bool is_before(size_t a, size_t b) const {
    const size_t common = common_prefix(a, b);
    const bool is_equal = common == most_ || (common > 0 && words_[a + common - 1] == 0);
    return !is_equal && words_[a + common] < words_[b + common];
  }

  size_t common_prefix(size_t a, size_t b) const {
    size_t size = 0;
    while (size < most_ && words_[a + size] == words_[b + size]) {
      ++size;
      if (words_[a + size - 1] == 0) break;
    }
    return size;
  }

  const std::u32string& words_;
  size_t most_;
  std::vector<size_t> begins_;
};

}  // namespace

// Suffixes that share a prefix are neighbours. A stack holds the prefixes that the current one has
// in common with some before, each with the first of those.
void for_each_repeated_substring(const std::u32string& words, size_t longest,
                                 FunctionRef<void(size_t, size_t, uint32_t)> found) {
  const SuffixOrder order(words, longest + 1);
  struct Open {
    size_t size, first;
  };
  std::vector<Open> open;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t common = i + 1 < order.size() ? order.common_with_next(i) : 0;
    size_t first = i;
    while (!open.empty() && open.back().size > common) {
      const Open closed = open.back();
      open.pop_back();
      first = closed.first;
      const size_t begin = order.begin(closed.first);
      const bool has_end = words[begin + closed.size - 1] == 0;
      if (closed.size >= 2 && closed.size <= longest && !has_end) {
        found(begin, closed.size, static_cast<uint32_t>(i + 1 - closed.first));
      }
    }
    if (common > 0 && (open.empty() || open.back().size < common)) open.push_back({common, first});
  }
}

}  // namespace plait::text
