#include "plait/cpu/cpu_level.h"

#include <algorithm>

#include "plait/core/error.h"

namespace plait {

namespace setting {
constinit Setting<CpuLevel> kCpu(
    {.name = "cpu",
     .standard = "best",
     .description = "the most capable instruction set that kernels use",
     .choices = {"best", "sse4", "avx2", "avx512"}});
}

namespace {

const ListedSettings cpu_settings{&setting::kCpu};

CpuLevel find_best_level() {
#ifdef PLAIT_HAVE_HIGHWAY
  // All extensions that Highway requires for each level.
  __builtin_cpu_init();
  const bool sse4 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("ssse3") &&
                    __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("aes");
  const bool avx2 = sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("f16c");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512bw");
  if (avx512) return CpuLevel::avx512;
  if (avx2) return CpuLevel::avx2;
  if (!sse4) {
    throw DeviceError("this CPU lacks SSE4.2, which Plait's kernels are built with")
        .hint("build Plait with -DPLAIT_HIGHWAY=OFF");
  }
#endif
  return CpuLevel::sse4;
}

}  // namespace

CpuLevel best_cpu_level() {
  static const CpuLevel kLevel = find_best_level();
  return kLevel;
}

CpuLevel cpu_level() {
  const CpuLevel best = best_cpu_level(), cap = setting::kCpu.get();
  return cap == CpuLevel::best ? best : std::min(best, cap);
}

}  // namespace plait
