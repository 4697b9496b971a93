// Recursive functions for many samples, in traces.
#pragma once

#include <span>
#include <vector>

#include "plait/transform/inside/batching/batched_values.h"
#include "plait/transform/inside/forms/calls/recursive_function.h"

namespace plait {

// Like run_recursive, for many samples. If any operand is batched, so are all results in which
// samples may differ.
std::vector<BatchedValue> run_recursive_batched(const RecursiveFunction& function,
                                                std::span<const BatchedValue> operands,
                                                const Samples& samples);

}  // namespace plait
