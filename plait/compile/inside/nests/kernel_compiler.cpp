#include "plait/compile/inside/nests/kernel_compiler.h"

#include <utility>

#include "plait/core/inside/system/immortal.h"

namespace plait::compile {
namespace {

std::unique_ptr<KernelCompiler>& registered() {
  static Immortal<std::unique_ptr<KernelCompiler>> compiler;
  return *compiler;
}

}  // namespace

void register_kernel_compiler(std::unique_ptr<KernelCompiler> compiler) {
  registered() = std::move(compiler);
}

KernelCompiler* kernel_compiler() {
  static const bool is_registered = (register_cpu_compiler(), true);
  (void)is_registered;
  return registered().get();
}

}  // namespace plait::compile
