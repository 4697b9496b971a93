// For x86-64 with AVX-512; PlaitCpuSources.cmake sets the compiler options of this file.
#include "plait/cpu/inside/convolutions/winograd_kernels_body.h"

namespace plait {
namespace {

struct Level {
  static constexpr int kBytes = 64;
};

}  // namespace

constinit const WinogradLevel kWinogradAvx512 = winograd_kernels_body::level_of<Level>();

}  // namespace plait
