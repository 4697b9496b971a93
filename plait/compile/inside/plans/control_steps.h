// Branches and loops as jumps: the steps around the bodies, which are added in their place.
#pragma once

#include "plait/compile/inside/plans/planned_body.h"
#include "plait/core/function_ref.h"

namespace plait::compile {

// Adds the steps of the instruction's callee of that number.
using AddCallee = FunctionRef<BodyResults(size_t callee, std::span<const Register> arguments,
                                          std::span<const Dim> sizes)>;

void add_branches(const ir::Instruction& instruction, PlannedBody& body, StepWriter& writer,
                  AddCallee add_callee);  // cond and switch
void add_while(const ir::Instruction& instruction, PlannedBody& body, StepWriter& writer,
               AddCallee add_callee);
// With the signature of the callee.
void add_scan(const ir::Instruction& instruction, PlannedBody& body, StepWriter& writer,
              const ir::Signature& signature, AddCallee add_callee);
void add_unwind(const ir::Instruction& instruction, PlannedBody& body, StepWriter& writer,
                const ir::Signature& signature, AddCallee add_callee);

}  // namespace plait::compile
