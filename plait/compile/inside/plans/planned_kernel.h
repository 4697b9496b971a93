// The loop nest of a fused function, and what a plan must know of it.
#pragma once

#include "plait/compile/inside/plans/plan.h"

namespace plait::compile {

// Without machine code.
PlannedKernel planned_kernel(std::shared_ptr<const ir::Function> function);

}  // namespace plait::compile
