// Operands of kernels on their device: arrays on the host that repeat one element meet any device,
// and are copied there.
#pragma once

#include <cstdint>
#include <span>

#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/cuda/inside/device/cuda_device.h"
#include "plait/cuda/inside/device/device_address.h"
#include "plait/cuda/inside/kernels/launch.h"
#include "plait/tensor/kernels.h"

namespace plait::cuda {

inline CudaDevice& device_of(const KernelCall& call) { return cuda_device(call.device.index); }

inline void move_operands(KernelCall& call) {
  for (Array& operand : call.operands) operand = operand.on(call.device);
}

// Blocks for `count` threads. There may be fewer: each thread then does several items.
inline Grid blocks_for(int64_t count, int threads = kBlockThreads) {
  constexpr int64_t kMost = 1 << 16;
  const int64_t blocks = quotient_up(count, threads);
  return {blocks < kMost ? blocks : kMost};
}

// True if 32 bits hold the numbers of all items, and of those that follow in a loop over a grid.
inline bool fits_32_bits(int64_t count) { return count < int64_t{1} << 31; }

}  // namespace plait::cuda
