// Memory without a name, which other processes of the host map while its maker lives. Nothing is
// left of it when they have ended.
#pragma once

#include <cstddef>
#include <memory>

#include <sys/types.h>

#include "plait/comm/inside/sockets/socket.h"

namespace plait::dist {

class SharedMemory {
 public:
  // Zeros. Only the pages that are touched take memory.
  static std::shared_ptr<SharedMemory> make(const char* name, size_t size);
  // That of another process, by its descriptor there; or of this one, at the same address.
  // DistError if it cannot be had.
  static std::shared_ptr<SharedMemory> open(pid_t process, int descriptor, size_t size);

  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  int descriptor() const { return descriptor_.number(); }

 private:
  SharedMemory(Descriptor descriptor, size_t size);

  Descriptor descriptor_;
  size_t size_;
  std::byte* data_ = nullptr;
};

}  // namespace plait::dist
