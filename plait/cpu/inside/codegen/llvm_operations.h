// Operations as code: what is emitted gives the bits that the eager loops of the same level give.
// Operands and results are held as computed_type() says.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "plait/core/numbers/dtype.h"
#include "plait/core/numbers/element.h"
#include "plait/cpu/inside/codegen/llvm_code.h"

namespace plait::cpu::code {

DType computed_dtype(DType dtype);  // f32 for narrow floats
// How numbers of a dtype are converted (core/numbers/element.h); to a narrow float they are
// rounded.
Code converted(Code a, DType from, DType to);
// From memory_type() and to it. A narrow float is rounded only here.
Code from_memory(Code a, DType dtype);
Code to_memory(Code a, DType dtype);
// A number as it is computed with, in one lane, and as it lies in memory.
Code constant(DType dtype, const Element& element);
Code constant_in_memory(DType dtype, const Element& element);

// Whether there is code for the operation on operands of that dtype (the last one's), or a loop.
bool has_operation(std::string_view name, DType dtype);
// Whether it takes far longer than an addition.
bool is_costly(std::string_view name, DType dtype);
Code operation(std::string_view name, DType dtype, std::span<const Code> operands);

using Emit = Code (*)(DType dtype, std::span<const Code> operands);
// Of functions that are more than a few instructions (llvm_functions.cpp); null where there is
// none.
Emit find_function(std::string_view name, DType dtype);

// Runs the eager loop (cpu_loops.h) on what the lanes hold.
Code outside(std::string_view name, DType dtype, std::span<const Code> operands);
// What emitted code calls by that name; null where it is none.
void* outside_address(std::string_view name);

}  // namespace plait::cpu::code
