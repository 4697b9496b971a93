// Launches of kernels, on the device's stream.
//
//   launch(device, kernel(device, "twice", kText), {blocks}, 256, 0, address, int64_t{count});
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "plait/cuda/inside/kernels/kernel_function.h"

namespace plait::cuda {

// At most 2^31 - 1 blocks along x, 65,535 along y and z.
struct Grid {
  int64_t x = 1, y = 1, z = 1;
};
inline constexpr int kBlockThreads = 256;  // in most launches
inline constexpr int64_t kMostBlocks = (int64_t{1} << 31) - 1, kMostOuterBlocks = 65535;

// The addresses of the arguments; their types are those of the kernel's parameters. Nothing is
// launched if the grid is empty. DeviceError if the grid or the shared memory is too large.
void launch_kernel(const CudaDevice& device, const KernelFunction& kernel, const Grid& grid,
                   int threads, int64_t shared_bytes, std::span<void*> arguments);

// The same with arguments of exactly the types of the parameters: an Address for a pointer.
template <class... Arguments>
void launch(const CudaDevice& device, const KernelFunction& kernel, const Grid& grid, int threads,
            int64_t shared_bytes, Arguments... arguments) {
  static_assert((std::is_trivially_copyable_v<Arguments> && ...));
  void* addresses[] = {static_cast<void*>(&arguments)..., nullptr};
  launch_kernel(device, kernel, grid, threads, shared_bytes,
                std::span(addresses, sizeof...(Arguments)));
}

}  // namespace plait::cuda
