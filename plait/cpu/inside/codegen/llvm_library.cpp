#include "plait/cpu/inside/codegen/llvm_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <llvm/Config/llvm-config.h>

#include "plait/core/error.h"
#include "plait/core/log.h"

namespace plait::cpu {
namespace {

// Never unloaded, since compiled code outlives any owner.
void* loaded_llvm() {
  static void* const library = [] {
    const std::string file =
        fmt::format("libLLVM.so.{}.{}", LLVM_VERSION_MAJOR, LLVM_VERSION_MINOR);
    void* const opened = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) {
      log(LogArea::compile, LogLevel::warning,
          "{} cannot be loaded, so kernels are not fused: {} (apt install libllvm{})", file,
          dlerror(), LLVM_VERSION_MAJOR);
    }
    return opened;
  }();
  return library;
}

}  // namespace

bool has_llvm() { return loaded_llvm() != nullptr; }

void* llvm_function(const char* name) {
  void* const library = loaded_llvm();
  void* const found = library == nullptr ? nullptr : dlsym(library, name);
  if (found == nullptr) {
    throw IoError("LLVM {} lacks {}, or is not installed", LLVM_VERSION_MAJOR, name)
        .hint(fmt::format("apt install libllvm{}", LLVM_VERSION_MAJOR));
  }
  return found;
}

}  // namespace plait::cpu
