// Detection of anomalies (core/anomaly.h): the results of each kernel are checked.
#pragma once

#include <utility>

#include "plait/core/ambient.h"
#include "plait/core/anomaly.h"
#include "plait/ir/primitive.h"
#include "plait/tensor/kernels.h"

namespace plait {

void run_detecting(const Kernel& kernel, KernelCall& call);

// Runs the kernel of an instruction. All kernels are run through this function.
inline void run_kernel(const Kernel& kernel, KernelCall& call) {
  if (detects_anomaly()) return run_detecting(kernel, call);
  kernel.run(call, kernel.data);
}

// While one exists, errors name this operation as the one whose backward pass the thread computes.
// Null: a rule without a name. Does nothing unless anomalies are detected.
class BackwardPassOf {
 public:
  explicit BackwardPassOf(const ir::Primitive* primitive) : is_noted_(detects_anomaly()) {
    if (is_noted_) outer_ = std::exchange(ambient.backward_pass_of, primitive);
  }
  ~BackwardPassOf() {
    if (is_noted_) ambient.backward_pass_of = outer_;
  }
  BackwardPassOf(const BackwardPassOf&) = delete;
  BackwardPassOf& operator=(const BackwardPassOf&) = delete;

  static const ir::Primitive* current() { return ambient.backward_pass_of; }

 private:
  const bool is_noted_;
  const ir::Primitive* outer_ = nullptr;
};

}  // namespace plait
