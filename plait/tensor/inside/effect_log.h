// A log of the visible effects of a computation (prints, random draws). A computation that is
// restarted from the same arguments does not repeat them.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "plait/core/ambient.h"
#include "plait/core/function_ref.h"
#include "plait/tensor/kernels.h"

namespace plait {

class EffectLog {
 public:
  // Restarts the log: the next effect is the first one.
  void rewind() { next_ = 0; }

  // Runs the effect, or returns its logged results if a log that is open on this thread has them.
  static void once(KernelCall& call, FunctionRef<void()> effect) {
    ambient.effects == nullptr ? effect() : ambient.effects->have(call, effect);
  }

  // While a Scope exists, its thread uses this log, inside those that were open before.
  class Scope {
   public:
    explicit Scope(EffectLog& log) : log_(log) {
      log.outer_ = std::exchange(ambient.effects, &log);
    }
    ~Scope() { ambient.effects = std::exchange(log_.outer_, nullptr); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    EffectLog& log_;
  };

 private:
  void have(KernelCall& call, FunctionRef<void()> effect);

  EffectLog* outer_ = nullptr;
  std::vector<std::vector<Array>> results_;  // one entry per effect
  size_t next_ = 0;
};

}  // namespace plait
