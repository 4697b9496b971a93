// Programs that are converted to ones that keep tapes (`with_tapes`).
#pragma once

#include <utility>

#include "plait/tensor/tracing/trace.h"

namespace plait {

// While it exists, its thread records tapes. What is recorded in that trace then cannot be
// differentiated again.
class TapeScope {
 public:
  explicit TapeScope(const Trace& trace)
      : outer_(std::exchange(current_, this)), trace_(trace.outermost()) {}
  ~TapeScope() { current_ = outer_; }
  TapeScope(const TapeScope&) = delete;
  TapeScope& operator=(const TapeScope&) = delete;

  static bool is_open() { return current_ != nullptr; }
  static bool is_of(const Trace& trace) {
    return is_open() && current_->trace_ == trace.outermost();
  }

 private:
  static inline constinit thread_local const TapeScope* current_ = nullptr;
  const TapeScope* const outer_;
  const Trace* const trace_;
};

}  // namespace plait
