// Instructions that are one step each.
#pragma once

#include "plait/compile/inside/plans/plan_parts.h"
#include "plait/compile/inside/plans/planned_body.h"

namespace plait::compile {

// For an instruction without callees.
void add_single_step(const ir::Instruction& instruction, PlannedBody& body, StepWriter& writer,
                     PlanParts& parts);

}  // namespace plait::compile
