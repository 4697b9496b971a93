// Which bytes of a stretch of memory are free.
#pragma once

#include <cstdint>
#include <map>

namespace plait::compile {

// What is laid out in memory begins on so many bytes.
inline constexpr int64_t kFrameAlign = 64;

// Gives out ranges of bytes, each the smallest that is free, or at the end; ranges that are given
// back may be given out again.
class FreeRanges {
 public:
  int64_t take(int64_t bytes);
  void give_back(int64_t begin, int64_t bytes);
  // Of the ranges that were ever given out.
  int64_t end() const { return end_; }

 private:
  int64_t take_at_end(int64_t bytes);

  std::map<int64_t, int64_t> by_begin_;  // how many bytes are free from there on
  int64_t end_ = 0;
};

}  // namespace plait::compile
