// Memory for debugging: each block ends at an inaccessible page, and is filled with ones, so that
// unwritten elements are NaN. Sanitizers see neither generated code nor libraries; this does.
#pragma once

#include <cstdint>

#include "plait/tensor/memory/buffer.h"

namespace plait::compile {

// The block begins `shift` bytes before the last possible place, rounded up to whole elements. The
// gaps around it are marked: `expect_untouched` throws a CheckError if they were overwritten.
class GuardedBlock {
 public:
  GuardedBlock() = default;
  GuardedBlock(int64_t bytes, int64_t shift, int64_t element_bytes);

  explicit operator bool() const { return static_cast<bool>(buffer_); }
  const Buffer& buffer() const { return buffer_; }
  void expect_untouched() const;

 private:
  Buffer buffer_;
  std::byte* first_ = nullptr;  // the first page
  std::byte* end_ = nullptr;    // the inaccessible page
  int64_t bytes_ = 0;
};

}  // namespace plait::compile
