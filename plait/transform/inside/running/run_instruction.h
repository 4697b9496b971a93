// Runs instructions on tensors: eagerly, or into the open trace, and followed by the open levels.
#pragma once

#include <span>
#include <vector>

#include "plait/ir/program.h"
#include "plait/tensor/tensor.h"

namespace plait {

// An integer as a size: its value, or a data-dependent size of the open trace.
Dim as_size(const Tensor& count, bool at_least);

// Runs one instruction without callees. `sizes` are the values of its symbolic sizes.
std::vector<Tensor> run_instruction(const ir::Instruction& instruction,
                                    std::span<const Tensor> operands, const SymbolMap<Dim>& sizes);

}  // namespace plait
