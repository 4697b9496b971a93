// Operations as code. The emitted code computes the same bits as the eager loops of the same level.
// Operands and results have the types of computed_type().
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "plait/core/numbers/dtype.h"
#include "plait/core/numbers/element.h"
#include "plait/cpu/inside/codegen/llvm_code.h"

namespace plait::cpu::code {

DType computed_dtype(DType dtype);  // f32 for narrow floats
// Conversion between dtypes as in core/numbers/element.h. A conversion to a narrow float rounds.
Code converted(Code a, DType from, DType to);
// Conversion between memory_type() and computed_type(). Narrow floats are rounded only here.
Code from_memory(Code a, DType dtype);
Code to_memory(Code a, DType dtype);
// A scalar constant, in its computed type and in its memory type.
Code constant(DType dtype, const Element& element);
Code constant_in_memory(DType dtype, const Element& element);

// Returns whether code or a loop exists for the operation and this dtype of its last operand.
bool has_operation(std::string_view name, DType dtype);
// True if it takes much longer than an addition.
bool is_costly(std::string_view name, DType dtype);
Code operation(std::string_view name, DType dtype, std::span<const Code> operands);

using Emit = Code (*)(DType dtype, std::span<const Code> operands);
// Emitter of a function of more than a few instructions (llvm_functions.cpp), or null.
Emit find_function(std::string_view name, DType dtype);

// Calls the eager loop (cpu_loops.h) with the lanes as a small array.
Code outside(std::string_view name, DType dtype, std::span<const Code> operands);
// The address of an external function that emitted code calls, or null.
void* outside_address(std::string_view name);

}  // namespace plait::cpu::code
