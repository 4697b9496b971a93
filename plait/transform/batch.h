// Functions run for many lanes at once: what `vmap` does with a function that was recorded for one.
#pragma once

#include <span>
#include <vector>

#include "plait/ir/program.h"
#include "plait/tensor/tensor.h"

namespace plait {

// A value of each lane, along the first dimension; or one for all of them.
struct LaneValue {
  Tensor tensor;
  bool is_batched = false;
};

// The value of each lane, repeated where it is one for all.
Tensor of_all_lanes(const LaneValue& value, Dim lanes);

std::vector<LaneValue> run_batched(const ir::Program& program, const ir::Function& function,
                                   std::span<const LaneValue> arguments, Dim lanes);

}  // namespace plait
