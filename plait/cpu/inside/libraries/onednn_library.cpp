#include "plait/cpu/inside/libraries/onednn_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "plait/core/error.h"

namespace plait {
namespace {

// Never unloaded, since primitives may outlive any owner.
void* loaded_onednn() {
  static void* const library = [] {
    const std::string file = fmt::format("libdnnl.so.{}", DNNL_VERSION_MAJOR);
    void* const opened = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) {
      throw IoError("{} is needed to multiply and convolve, and cannot be loaded: {}", file,
                    dlerror())
          .hint(fmt::format("apt install libdnnl{}", DNNL_VERSION_MAJOR));
    }
    return opened;
  }();
  return library;
}

}  // namespace

void* onednn_function_if_any(const char* name) { return dlsym(loaded_onednn(), name); }

void* onednn_function(const char* name) {
  void* const found = onednn_function_if_any(name);
  if (found == nullptr) {
    throw IoError("libdnnl.so.{} lacks {}: it is not the version that Plait was built with",
                  DNNL_VERSION_MAJOR, name);
  }
  return found;
}

}  // namespace plait
