// Plans one function: its instructions, with the bodies of branches and loops, become steps.
#pragma once

#include "plait/compile/inside/plans/plan_parts.h"

namespace plait::compile {

struct PlanOptions {
  bool makes_kernels = true;  // else the instructions of fused functions become steps
  bool shares_memory = true;  // between values that do not live at the same time
};

// `index` is the function in the program.
PlannedFunction planned_function(PlanParts& parts, uint32_t index, const PlanOptions& options);

}  // namespace plait::compile
