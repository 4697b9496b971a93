// Shared by loops that run for many samples.
#pragma once

#include <span>
#include <vector>

#include "plait/transform/inside/batching/batch.h"

namespace plait {

// Types of the parameters of a body or a test, and which of them are batched.
struct LoopParameters {
  std::vector<ir::Type> types;
  std::vector<bool> flags;
};

// Runs the function on types alone; says which of its results are batched.
std::vector<bool> batched_results(const BatchedRun& run, const ir::Function& function,
                                  const LoopParameters& parameters);
// Adds flags: for carries that differ between samples from some step on.
void find_batched_carries(const BatchedRun& run, const ir::Function& body, size_t constants,
                          size_t carries, LoopParameters& parameters);
// The function after these constants. `flags`: of all parameters. `results`: of the first results;
// others are batched if samples may differ in them.
TensorFunction after_constants(const BatchedRun& run, const ir::Function& function,
                               std::span<const BatchedValue> constants,
                               const std::vector<bool>& flags, const std::vector<bool>& results);

}  // namespace plait
