// Functions recorded in two parts: what is computed first, and the way back, which is given what
// the first part keeps.
#pragma once

#include <span>
#include <vector>

#include "plait/transform/inside/control/staged.h"

namespace plait {

struct Taped {
  std::vector<Tensor> results;
  // Of the cotangents of the results that are inexact: those of the wanted arguments. What it
  // captures is what is to be kept.
  StagedFunction backward;
};
// Runs the function in the trace that is open, whose values the arguments are.
Taped record_taped(const TensorFunction& function, std::span<const Tensor> arguments,
                   const std::vector<bool>& wanted);

// A cotangent for each inexact result of the function, of which some may be given; zeros for
// others.
std::vector<Tensor> all_cotangents(const ir::Function& function, std::span<const Tensor> operands,
                                   std::span<const Tensor> given);

// What goes back may be of a size that nothing which it is given says; then, in the trace that is
// open, a value of that size goes along.
void capture_sizes(std::span<const Tensor> wanted, std::span<const Tensor> arguments);

// The sizes that occur in the types, but for those that are known.
std::vector<Dim> sizes_besides(std::span<const ir::Type> types, std::span<const Dim> known);

bool is_followed_in_reverse(std::span<const Tensor> tensors);

// While one is there, its thread records tapes. What it records in that trace cannot be
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
