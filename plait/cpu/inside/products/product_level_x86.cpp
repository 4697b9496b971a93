// Selection of the kernels for an x86-64 processor.
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plait/cpu/cpu_level.h"
#include "plait/cpu/inside/convolutions/winograd_kernels.h"
#include "plait/cpu/inside/products/bf16_kernels.h"
#include "plait/cpu/inside/products/product_kernels.h"
#include "plait/cpu/inside/repeated_products/paired_kernels.h"

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

CpuLevel level_in_use() {
  static const CpuLevel best = best_level();
  const CpuLevel wanted = setting::kCpu.get();
  return wanted == CpuLevel::best || wanted > best ? best : wanted;
}

// Compilers name these bits of registers a and d differently.
constexpr unsigned kVectorsOfBf16 = 1U << 5, kTilesOfBf16 = 1U << 22;

bool has_vectors_of_bf16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kVectorsOfBf16) != 0;
}

// Linux enables tile registers for a process only on request.
bool has_tile_units() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!has_vectors_of_bf16()) return false;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kTilesOfBf16) == 0) return false;
  constexpr int kAskForState = 0x1023, kTiles = 18;
  return syscall(SYS_arch_prctl, kAskForState, kTiles) == 0;
}

}  // namespace

const ProductKernels& product_kernels() {
  const CpuLevel level = level_in_use();
  if (level == CpuLevel::avx512) return kProductKernelsAvx512;
  return level == CpuLevel::avx2 ? kProductKernelsAvx2 : kProductKernels;
}

const WinogradLevel& winograd_level() {
  const CpuLevel level = level_in_use();
  if (level == CpuLevel::avx512) return kWinogradAvx512;
  return level == CpuLevel::avx2 ? kWinogradAvx2 : kWinograd;
}

const Bf16Kernels* bf16_kernels() {
  static const Bf16Kernels* const fastest = best_level() != CpuLevel::avx512 ? nullptr
                                            : has_tile_units()               ? &kBf16KernelsOfTiles
                                            : has_vectors_of_bf16()          ? &kBf16KernelsOfPairs
                                                                             : nullptr;
  return setting::kCpu.get() == CpuLevel::best ? fastest : nullptr;
}

const PairedKernels* paired_kernels() {
  static const bool are_there = best_level() == CpuLevel::avx512 && has_vectors_of_bf16();
  return are_there && setting::kCpu.get() == CpuLevel::best ? &kPairedKernels : nullptr;
}

}  // namespace plait
