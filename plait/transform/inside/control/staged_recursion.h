// Recursive functions of the IR, in traces.
#pragma once

#include <span>
#include <vector>

#include "plait/ir/program.h"
#include "plait/transform/inside/batching/lane_values.h"

namespace plait {

// True if a function of the program calls itself, directly or through others.
bool has_recursion(const ir::Program& program);

// Records a call of such a function into the open trace, and follows it.
std::vector<Tensor> run_recursive(const ir::Program& program, const ir::Function& function,
                                  std::span<const Tensor> operands);
// The same for the reverse derivative of a function (ir `pull`).
std::vector<Tensor> run_recursive_pull(const ir::Program& program, const ir::Function& function,
                                       const ir::Function& of, std::span<const int64_t> wanted,
                                       std::span<const Tensor> operands);
// Like run_recursive, for a function that draws random numbers: they are derived from `key`.
std::vector<Tensor> run_recursive_with_key(const ir::Program& program, const ir::Function& function,
                                           std::span<const Tensor> operands, const Tensor& key);
// Either call for many lanes. If any operand is batched, so are all results in which lanes
// may differ.
std::vector<LaneValue> run_recursive_batched(const ir::Program& program,
                                             const ir::Instruction& instruction,
                                             std::span<const LaneValue> operands,
                                             const Lanes& lanes);
bool has_pulls(const ir::Program& program);

}  // namespace plait
