// Functions run for many lanes at once: what `vmap` does with a function that was recorded for one.
#pragma once

#include <span>
#include <vector>

#include "plait/ir/program.h"
#include "plait/transform/inside/batching/lane_values.h"

namespace plait {

// Of a function whose arguments are these; lanes without a value of their own share one.
std::vector<LaneValue> run_batched(const ir::Program& program, const ir::Function& function,
                                   std::span<const LaneValue> arguments, const Lanes& lanes);

}  // namespace plait
