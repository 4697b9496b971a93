// Functions recorded in two parts: what is computed first, and the way back, which is given what
// the first part keeps.
#pragma once

#include <span>
#include <vector>

#include "plait/transform/staged.h"

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

// The sizes that occur in the types, but for those that are known.
std::vector<Dim> sizes_besides(std::span<const ir::Type> types, std::span<const Dim> known);

bool is_followed_in_reverse(std::span<const Tensor> tensors);

// While one is there, its thread keeps no tapes: what goes back may be differentiated again.
class TapePause {
 public:
  TapePause() : outer_(std::exchange(current_, this)) {}
  ~TapePause() { current_ = outer_; }
  TapePause(const TapePause&) = delete;
  TapePause& operator=(const TapePause&) = delete;

  static const TapePause* current() { return current_; }

 private:
  static inline constinit thread_local const TapePause* current_ = nullptr;
  const TapePause* const outer_;
};

}  // namespace plait
