// `scan` in traces.
#pragma once

#include <span>

#include "plait/transform/control/control.h"
#include "plait/transform/inside/forms/staged.h"

namespace plait::control {

// Structure of the operands of a scan: constants, carries, and then stacked inputs.
struct ScanShape {
  size_t constants, carries;
  Dim length;
  bool reverse;
};

// Records the instruction into the open trace, with the body as its callee, and follows it.
Tensors stage_scan(const StagedFunction& body, const ScanShape& shape,
                   std::span<const Tensor> operands);

}  // namespace plait::control
