#include "plait/compile/inside/running/work_memory.h"

#include "plait/core/inside/sizes/integer_arithmetic.h"

namespace plait::compile {

Buffer WorkMemory::take(int64_t bytes) {
  const int64_t used = quotient_up(bytes, kFrameAlign) * kFrameAlign;
  int64_t begin = 0;
  {
    const std::lock_guard lock(mutex_);
    begin = ranges_.take(used);
  }
  Buffer other;
  if (begin + used > bytes_) other = Buffer::from_cache(bytes);
  void* const data = other ? other.data() : block_.data() + begin;
  return Buffer::adopt(
      data, [self = shared_from_this(), other, begin, used] { self->give_back(begin, used); });
}

int64_t WorkMemory::wanted_bytes() const {
  const std::lock_guard lock(mutex_);
  return ranges_.end();
}

void WorkMemory::give_back(int64_t begin, int64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  ranges_.give_back(begin, bytes);
}

}  // namespace plait::compile
