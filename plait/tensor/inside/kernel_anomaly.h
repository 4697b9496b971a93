// Where anomalies (core/anomaly.h) are looked for: behind each kernel.
#pragma once

#include <utility>

#include "plait/core/anomaly.h"
#include "plait/ir/primitive.h"
#include "plait/tensor/kernels.h"

namespace plait {

void run_detecting(const Kernel& kernel, KernelCall& call);

// Every kernel of an instruction runs here.
inline void run_kernel(const Kernel& kernel, KernelCall& call) {
  if (detects_anomaly()) return run_detecting(kernel, call);
  kernel.run(call, kernel.data);
}

// While one is there, what its thread computes is the backward pass of this operation, for errors
// to name. Null: of a rule that has no name. Noted only while anomalies are detected.
class BackwardPassOf {
 public:
  explicit BackwardPassOf(const ir::Primitive* primitive) : is_noted_(detects_anomaly()) {
    if (is_noted_) outer_ = std::exchange(current_, primitive);
  }
  ~BackwardPassOf() {
    if (is_noted_) current_ = outer_;
  }
  BackwardPassOf(const BackwardPassOf&) = delete;
  BackwardPassOf& operator=(const BackwardPassOf&) = delete;

  static const ir::Primitive* current() { return current_; }

 private:
  static inline constinit thread_local const ir::Primitive* current_ = nullptr;

  const bool is_noted_;
  const ir::Primitive* outer_ = nullptr;
};

}  // namespace plait
