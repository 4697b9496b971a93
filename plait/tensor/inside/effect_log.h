// What a computation did that is seen from outside: prints, draws. One that begins again from the
// same arguments does not do it twice.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "plait/core/function_ref.h"
#include "plait/tensor/kernels.h"

namespace plait {

class EffectLog {
 public:
  // The next effect is the first one again.
  void rewind() { next_ = 0; }

  // Has the effect, or gives what it gave before: if a log that is open on this thread knows.
  static void once(KernelCall& call, FunctionRef<void()> effect) {
    current_ == nullptr ? effect() : current_->have(call, effect);
  }

  // While one is there, its thread keeps this log, and those that it kept before.
  class Scope {
   public:
    explicit Scope(EffectLog& log) : log_(log) { log.outer_ = std::exchange(current_, &log); }
    ~Scope() { current_ = std::exchange(log_.outer_, nullptr); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    EffectLog& log_;
  };

 private:
  void have(KernelCall& call, FunctionRef<void()> effect);

  static inline constinit thread_local EffectLog* current_ = nullptr;

  EffectLog* outer_ = nullptr;
  std::vector<std::vector<Array>> results_;  // of each effect
  size_t next_ = 0;
};

}  // namespace plait
