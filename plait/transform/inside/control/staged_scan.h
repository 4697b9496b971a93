// `scan` in traces.
#pragma once

#include <span>

#include "plait/transform/control/control.h"
#include "plait/transform/inside/control/staged.h"

namespace plait::control {

// What a scan goes by: constants, carries and what is stacked, each some of its operands.
struct ScanShape {
  size_t constants, carries;
  Dim length;
  bool reverse;
};

// Records the instruction into the trace that is open, with the body as its callee, and follows it.
Tensors stage_scan(const StagedFunction& body, const ScanShape& shape,
                   std::span<const Tensor> operands);

}  // namespace plait::control
