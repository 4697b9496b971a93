// The allocator of a thread, and of the threads that work in its loops. Without one, buffers come
// from the cache (memory.h).
#pragma once

#include "plait/core/system/thread_team.h"
#include "plait/tensor/memory/buffer.h"

namespace plait {

// Called by several threads concurrently.
class BufferSource : public LoopContext {
 public:
  virtual Buffer allocate(int64_t bytes) = 0;
  // Workspace: memory that is released before the operation ends.
  virtual Buffer allocate_work(int64_t bytes) = 0;

  static BufferSource* current() { return static_cast<BufferSource*>(LoopContext::current()); }
};

}  // namespace plait
