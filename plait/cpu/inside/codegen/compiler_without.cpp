// In place of llvm_*.cpp where LLVM is missing: every instruction is run by its own kernel.
#include "plait/compile/inside/nests/kernel_compiler.h"

namespace plait::compile {

void register_cpu_compiler() {}

}  // namespace plait::compile
