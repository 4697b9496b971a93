// Used instead of llvm_*.cpp if LLVM is missing: every instruction runs its own kernel.
#include "plait/cpu/inside/codegen/nest_compiler.h"

namespace plait::cpu {

bool has_nest_compiler() { return false; }
bool is_emitted(DType) { return false; }
bool is_emitted(const ir::Primitive&, std::span<const DType>, DType) { return false; }
bool is_costly(const ir::Primitive&, DType) { return false; }
std::vector<CompiledNest> compiled_nests(std::span<const compile::Nest* const>) { return {}; }

}  // namespace plait::cpu
