// Programs that are converted to ones that keep tapes (`with_tapes`).
#pragma once

#include <utility>

#include "plait/core/ambient.h"
#include "plait/tensor/inside/tracing/trace.h"

namespace plait {

// While it exists, its thread records tapes. What is recorded in that trace then cannot be
// differentiated again.
class TapeScope {
 public:
  explicit TapeScope(const Trace& trace)
      : outer_(std::exchange(ambient.tapes, this)), trace_(trace.outermost()) {}
  ~TapeScope() { ambient.tapes = outer_; }
  TapeScope(const TapeScope&) = delete;
  TapeScope& operator=(const TapeScope&) = delete;

  static bool is_open() { return ambient.tapes != nullptr; }
  static bool is_of(const Trace& trace) {
    return is_open() && ambient.tapes->trace_ == trace.outermost();
  }

 private:
  const TapeScope* const outer_;
  const Trace* const trace_;
};

}  // namespace plait
