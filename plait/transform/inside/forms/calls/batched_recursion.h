// Recursive functions for many lanes, in traces.
#pragma once

#include <span>
#include <vector>

#include "plait/transform/inside/batching/lane_values.h"
#include "plait/transform/inside/forms/calls/recursive_function.h"

namespace plait {

// Like run_recursive, for many lanes. If any operand is batched, so are all results in which lanes
// may differ.
std::vector<LaneValue> run_recursive_batched(const RecursiveFunction& function,
                                             std::span<const LaneValue> operands,
                                             const Lanes& lanes);

}  // namespace plait
