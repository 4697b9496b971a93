// Batched execution: runs a function that was recorded for one lane (sample) on many lanes.
#pragma once

#include <span>
#include <vector>

#include "plait/ir/program.h"
#include "plait/transform/inside/batching/lane_values.h"

namespace plait {

// Runs `function` on these arguments. An argument that is not batched is shared by all lanes.
std::vector<LaneValue> run_batched(const ir::Program& program, const ir::Function& function,
                                   std::span<const LaneValue> arguments, const Lanes& lanes);

}  // namespace plait
