// Functions of the IR that call themselves, in traces.
#pragma once

#include <span>
#include <vector>

#include "plait/ir/program.h"
#include "plait/transform/inside/batching/lane_values.h"

namespace plait {

// Whether a function of the program comes back to itself by calls.
bool has_recursion(const ir::Program& program);

// Records a call of such a function into the trace that is open, and follows it.
std::vector<Tensor> run_recursive(const ir::Program& program, const ir::Function& function,
                                  std::span<const Tensor> operands);
// The same of one that is the reverse derivative of another (ir `pull`).
std::vector<Tensor> run_recursive_pull(const ir::Program& program, const ir::Function& function,
                                       const ir::Function& of, std::span<const int64_t> wanted,
                                       std::span<const Tensor> operands);
// The first, of one that draws random numbers: they are made of a key.
std::vector<Tensor> run_recursive_with_key(const ir::Program& program, const ir::Function& function,
                                           std::span<const Tensor> operands, const Tensor& key);
// Either for many lanes at once; where any operand is batched, all results are in which lanes may
// differ.
std::vector<LaneValue> run_recursive_batched(const ir::Program& program,
                                             const ir::Instruction& instruction,
                                             std::span<const LaneValue> operands,
                                             const Lanes& lanes);
bool has_pulls(const ir::Program& program);

}  // namespace plait
