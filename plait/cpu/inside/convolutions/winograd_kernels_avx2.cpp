// For x86-64 with AVX2 and FMA; PlaitCpuSources.cmake sets the compiler options of this file.
#include "plait/cpu/inside/convolutions/winograd_kernels_body.h"

namespace plait {
namespace {

struct Level {
  static constexpr int kBytes = 32;
};

}  // namespace

constinit const WinogradLevel kWinogradAvx2 = winograd_kernels_body::level_of<Level>();

}  // namespace plait
