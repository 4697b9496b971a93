// One recorded instruction, executed by a companion with the sizes of this run.
#pragma once

#include <span>
#include <vector>

#include "plait/tensor/inside/tracing/companion.h"
#include "plait/tensor/inside/tracing/open_function.h"
#include "plait/tensor/inside/tracing/trace_program.h"
#include "plait/tensor/inside/tracing/traced_instruction.h"

namespace plait {

// True if host code could observe the execution, or catch its failure.
bool may_be_observed(const TracedInstruction& instruction, const ir::Declarations& declarations);

// `recorded` is the instruction in the function; its callees are in the program.
std::vector<Tensor> run_recorded(Companion& companion, const TracedInstruction& instruction,
                                 const ir::Instruction& recorded, std::span<const Tensor> operands,
                                 const SymbolMap<int64_t>& sizes, TraceProgram& program);

// The primitive alone. True if it accepts these operands.
bool is_right_for(Companion& companion, const TracedInstruction& instruction,
                  std::span<const Tensor> operands, const SymbolMap<int64_t>& sizes);

// Throws the error of the type rule for the sizes of this run; none if one is unknown.
void expect_right_sizes(const TracedInstruction& instruction, const OpenFunction& function);

}  // namespace plait
