#include "plait/cuda/inside/kernels/launch.h"

#include "plait/core/error.h"

namespace plait::cuda {

void launch_kernel(const CudaDevice& device, const KernelFunction& kernel, const Grid& grid,
                   int threads, int64_t shared_bytes, std::span<void*> arguments) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  if (grid.x > kMostBlocks || grid.y > kMostOuterBlocks || grid.z > kMostOuterBlocks) {
    throw DeviceError("{}: a grid of {} x {} x {} blocks is too large for CUDA", kernel.name(),
                      grid.x, grid.y, grid.z);
  }
  if (shared_bytes > kernel.most_shared_bytes()) {
    throw DeviceError("{}: {} bytes of shared memory, the device has {}", kernel.name(),
                      shared_bytes, kernel.most_shared_bytes());
  }
  device.enter();
  check(driver().launch_kernel(
            kernel.function(), static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y),
            static_cast<unsigned>(grid.z), static_cast<unsigned>(threads), 1, 1,
            static_cast<unsigned>(shared_bytes), device.stream(), arguments.data(), nullptr),
        "cuLaunchKernel");
}

}  // namespace plait::cuda
