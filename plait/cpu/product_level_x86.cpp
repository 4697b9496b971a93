// Which kernels an x86-64 processor takes.
#include "plait/core/settings.h"
#include "plait/cpu/product_kernels.h"

namespace plait {
namespace {

CpuLevel best_level() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return CpuLevel::avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return CpuLevel::avx2;
  return CpuLevel::sse4;
}

}  // namespace

const ProductKernels& product_kernels() {
  static const CpuLevel best = best_level();
  const CpuLevel wanted = setting::kCpu.get();
  const CpuLevel level = wanted == CpuLevel::best || wanted > best ? best : wanted;
  if (level == CpuLevel::avx512) return kProductKernelsAvx512;
  return level == CpuLevel::avx2 ? kProductKernelsAvx2 : kProductKernels;
}

}  // namespace plait
