// Says which loops run_small_loop (small_loop.h) can run: those whose arrays are small and of known
// sizes, and whose steps call no function, make no record and keep no array.
#pragma once

#include <vector>

#include "plait/compile/inside/running/bound_plan.h"

namespace plait::compile {

// One for each loop of the function.
std::vector<bool> small_loops_of(const BoundFunction& bound);

}  // namespace plait::compile
