// From the text of a kernel to code for a device.
#pragma once

#include <string>
#include <string_view>

#include "plait/cuda/inside/kernels/nvrtc.h"

namespace plait::cuda {

// The text of a kernel, in CUDA C++. `name` is that of an extern "C" function in it. The prelude
// (prelude.h) comes before it.
struct KernelText {
  std::string name;
  std::string text;
};

// A cubin, or PTX if NVRTC does not know the architecture. Throws a CompileError that names the
// kernel and has NVRTC's messages.
std::string compile_text(const Nvrtc& nvrtc, const KernelText& kernel, int architecture);

// The same by nvrtc(), from the cache folder if it is there.
std::string cached_code(const KernelText& kernel, int architecture);

}  // namespace plait::cuda
