// Runs the rounds of a loop over small arrays. Each register stays where it is in memory from round
// to round, so that the arguments of all kernels are made once.
#pragma once

#include "plait/compile/inside/running/frame.h"
#include "plait/compile/inside/running/loaded_plan.h"

namespace plait::compile {

// Runs the rounds that are left; the frame is at the beginning of one, and afterwards at the step
// after the loop.
void run_small_loop(const LoadedPlan& loaded, Frame& frame, const PlannedFunction::Loop& loop);

}  // namespace plait::compile
