// Work memory that grows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plait/tensor/memory/buffer.h"

namespace plait {

class Scratch {
 public:
  // At least so many bytes; what was in it is lost.
  std::byte* of(int64_t bytes) {
    if (bytes > bytes_) {
      memory_ = Buffer::allocate_work(bytes);
      bytes_ = bytes;
    }
    return memory_.data();
  }

 private:
  Buffer memory_;
  int64_t bytes_ = 0;
};

}  // namespace plait
