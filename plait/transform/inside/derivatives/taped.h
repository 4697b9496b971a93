// Functions recorded as two: a forward part, and a backward part that receives what the forward
// part stores.
#pragma once

#include <span>
#include <vector>

#include "plait/transform/inside/control/staged.h"

namespace plait {

struct Taped {
  std::vector<Tensor> results;
  // Maps the cotangents of the inexact results to those of the wanted arguments. Its captures are
  // the residuals.
  StagedFunction backward;
};
// Runs the function in the open trace, to which the arguments belong.
Taped record_taped(const TensorFunction& function, std::span<const Tensor> arguments,
                   const std::vector<bool>& wanted);

// Returns a cotangent for each inexact result of the function: the given one, or zeros.
std::vector<Tensor> all_cotangents(const ir::Function& function, std::span<const Tensor> operands,
                                   std::span<const Tensor> given);

// The sizes of a cotangent may be unknown to the backward function; then a value that shows the
// size is captured in the open trace.
void capture_sizes(std::span<const Tensor> wanted, std::span<const Tensor> arguments);

// Returns the symbolic sizes in the types that are not in `known`.
std::vector<Dim> sizes_besides(std::span<const ir::Type> types, std::span<const Dim> known);

bool is_followed_in_reverse(std::span<const Tensor> tensors);

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
