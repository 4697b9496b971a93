// Used instead of llvm_*.cpp if LLVM is missing: every instruction runs its own kernel.
#include "plait/compile/inside/nests/kernel_compiler.h"

namespace plait::compile {

void register_cpu_compiler() {}

}  // namespace plait::compile
