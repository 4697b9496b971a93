// Programs run through the gateway: now, or into the trace that is open, and followed by the levels
// that are open.
#pragma once

#include <span>
#include <vector>

#include "plait/ir/program.h"
#include "plait/tensor/tensor.h"

namespace plait {

// A whole number as a size: its value, or one that is born in the trace that is open.
Dim as_size(const Tensor& count, bool at_least);

// One instruction without callees. Sizes in it are those of the place where it is run.
std::vector<Tensor> run_instruction(const ir::Instruction& instruction,
                                    std::span<const Tensor> operands, const SymbolMap<Dim>& sizes);

}  // namespace plait
