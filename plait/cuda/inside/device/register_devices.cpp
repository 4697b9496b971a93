#include <memory>

#include "plait/cuda/inside/device/cuda_memory.h"
#include "plait/cuda/inside/device/register_kernels.h"

namespace plait {

void register_cuda_devices() {
  register_devices(Device::Kind::cuda,
                   {.count = cuda::count_devices,
                    .register_kernels = cuda::register_kernels,
                    .open = [](int index) -> std::unique_ptr<DeviceMemory> {
                      cuda::driver();  // says what is missing
                      if (index >= cuda::count_devices()) return nullptr;
                      return std::make_unique<cuda::CudaMemory>(cuda::cuda_device(index));
                    }});
}

}  // namespace plait
