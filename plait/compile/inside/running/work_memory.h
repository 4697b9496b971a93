// Work memory of operations: oneDNN's scratch memory, packed matrices, partial sums of threads.
// The first call measures its size; from the second call on it is one block, which is kept with
// the frame.
#pragma once

#include <memory>
#include <mutex>

#include "plait/compile/inside/plans/free_ranges.h"
#include "plait/tensor/memory/buffer.h"

namespace plait::compile {

class WorkMemory : public std::enable_shared_from_this<WorkMemory> {
 public:
  explicit WorkMemory(int64_t bytes) : bytes_(bytes), block_(Buffer::from_cache(bytes)) {}

  // Takes from the block if it is large enough. Thread-safe.
  Buffer take(int64_t bytes);
  int64_t bytes() const { return bytes_; }
  // The size that would have been enough.
  int64_t wanted_bytes() const;

 private:
  void give_back(int64_t begin, int64_t bytes) noexcept;

  const int64_t bytes_;
  const Buffer block_;
  mutable std::mutex mutex_;
  FreeRanges ranges_;
};

}  // namespace plait::compile
