// Compiles loop nests to machine code, by LLVM.
#pragma once

#include <span>
#include <vector>

#include "plait/compile/inside/nests/nest.h"
#include "plait/cpu/inside/codegen/compiled_nest.h"

namespace plait::cpu {

// False if this build has none, or its library is missing. The others are called only if it is
// true.
bool has_nest_compiler();

bool is_emitted(DType dtype);
// True for the supported elementwise primitives and casts.
bool is_emitted(const ir::Primitive& primitive, std::span<const DType> operands, DType result);

// True if it takes much longer than an addition.
bool is_costly(const ir::Primitive& primitive, DType operand);

// The code, of the level of cpu_level(), lives as long as the process; equal nests share it.
std::vector<CompiledNest> compiled_nests(std::span<const compile::Nest* const> nests);

}  // namespace plait::cpu
