// What the operations of a program work in while it is run: oneDNN's scratch memory, matrices that
// are packed, sums of threads. How much that is shows when it is run: all that is taken from the
// second call on lies in one block, which stays with the frame.
#pragma once

#include <memory>
#include <mutex>

#include "plait/compile/inside/plans/free_ranges.h"
#include "plait/tensor/memory/buffer.h"

namespace plait::compile {

class WorkMemory : public std::enable_shared_from_this<WorkMemory> {
 public:
  explicit WorkMemory(int64_t bytes) : bytes_(bytes), block_(Buffer::from_cache(bytes)) {}

  // Of the block, where that is large enough. Threads may take at once.
  Buffer take(int64_t bytes);
  int64_t bytes() const { return bytes_; }
  // That would have been enough.
  int64_t wanted_bytes() const;

 private:
  void give_back(int64_t begin, int64_t bytes) noexcept;

  const int64_t bytes_;
  const Buffer block_;
  mutable std::mutex mutex_;
  FreeRanges ranges_;
};

}  // namespace plait::compile
