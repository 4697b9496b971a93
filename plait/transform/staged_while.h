// `while` in traces.
#pragma once

#include <span>

#include "plait/transform/control.h"
#include "plait/transform/staged.h"

namespace plait::control {

// Records the instruction into the trace that is open, with test and body as its callees, and
// follows it. The first operands are constants of both.
Tensors stage_while(const StagedFunction& test, const StagedFunction& body, size_t constants,
                    std::span<const Tensor> operands);

}  // namespace plait::control
