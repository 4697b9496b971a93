#include "plait/compile/inside/plans/free_ranges.h"

#include <iterator>

namespace plait::compile {

int64_t FreeRanges::take(int64_t bytes) {
  auto best = by_begin_.end();
  for (auto i = by_begin_.begin(); i != by_begin_.end(); ++i) {
    const bool fits = i->second >= bytes;
    if (fits && (best == by_begin_.end() || i->second < best->second)) best = i;
  }
  if (best == by_begin_.end()) return take_at_end(bytes);
  const auto [begin, size] = *best;
  by_begin_.erase(best);
  if (size > bytes) by_begin_.emplace(begin + bytes, size - bytes);
  return begin;
}

void FreeRanges::give_back(int64_t begin, int64_t bytes) {
  if (bytes == 0) return;
  auto [place, is_new] = by_begin_.emplace(begin, bytes);
  if (const auto next = std::next(place);
      next != by_begin_.end() && place->first + place->second == next->first) {
    place->second += next->second;
    by_begin_.erase(next);
  }
  if (place == by_begin_.begin()) return;
  const auto before = std::prev(place);
  if (before->first + before->second != place->first) return;
  before->second += place->second;
  by_begin_.erase(place);
}

int64_t FreeRanges::take_at_end(int64_t bytes) {
  int64_t begin = end_;
  if (!by_begin_.empty()) {
    const auto last = std::prev(by_begin_.end());
    if (last->first + last->second == end_) {
      begin = last->first;
      by_begin_.erase(last);
    }
  }
  end_ = begin + bytes;
  return begin;
}

}  // namespace plait::compile
