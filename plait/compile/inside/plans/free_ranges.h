// Allocator of ranges in a block of memory.
#pragma once

#include <cstdint>
#include <map>

namespace plait::compile {

// Alignment of ranges, in bytes.
inline constexpr int64_t kFrameAlign = 64;

// Best-fit allocator: takes the smallest free range that fits, or extends the end. Released ranges
// are reused.
class FreeRanges {
 public:
  int64_t take(int64_t bytes);
  void give_back(int64_t begin, int64_t bytes);
  // The end of all ranges that were ever taken.
  int64_t end() const { return end_; }

 private:
  int64_t take_at_end(int64_t bytes);

  std::map<int64_t, int64_t> by_begin_;  // size of the free range that begins there
  int64_t end_ = 0;
};

}  // namespace plait::compile
