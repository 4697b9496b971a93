// Memory for those who look for mistakes: each block ends where a page begins that nobody may
// touch, and is full of ones, so that what was never written is NaN. Sanitizers see neither
// generated code nor libraries; this does.
#pragma once

#include <cstdint>

#include "plait/tensor/memory/buffer.h"

namespace plait::compile {

// Beginning `shift` bytes earlier than it could, or a few more so that elements lie as they must,
// with marks in the gap behind it. CheckError from `expect_untouched` where somebody wrote into the
// gaps.
class GuardedBlock {
 public:
  GuardedBlock() = default;
  GuardedBlock(int64_t bytes, int64_t shift, int64_t element_bytes);

  explicit operator bool() const { return static_cast<bool>(buffer_); }
  const Buffer& buffer() const { return buffer_; }
  void expect_untouched() const;

 private:
  Buffer buffer_;
  std::byte* first_ = nullptr;  // of the pages
  std::byte* end_ = nullptr;    // the page that nobody may touch
  int64_t bytes_ = 0;
};

}  // namespace plait::compile
