// Where the buffers of a thread come from, and of those that work in its loops, while a source is
// set. Without one they come from the cache (memory.h).
#pragma once

#include "plait/core/system/thread_team.h"
#include "plait/tensor/memory/buffer.h"

namespace plait {

// Threads may ask at once.
class BufferSource : public LoopContext {
 public:
  virtual Buffer allocate(int64_t bytes) = 0;
  // Of what is needed while an operation computes, and not afterwards.
  virtual Buffer allocate_work(int64_t bytes) = 0;

  static BufferSource* current() { return static_cast<BufferSource*>(LoopContext::current()); }
};

}  // namespace plait
