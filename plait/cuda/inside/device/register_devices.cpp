#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/cuda/inside/device/cuda_memory.h"
#include "plait/cuda/inside/device/register_kernels.h"

namespace plait {

namespace {

void expect_device(int index, int count) {
  if (index < count) return;
  const std::string name = text_of(Device(Device::Kind::cuda, static_cast<uint8_t>(index)));
  if (count == 0) {
    throw DeviceError("unknown device '{}': the driver sees no GPU", name)
        .hint("use the device cpu; nvidia-smi, and CUDA_VISIBLE_DEVICES, say what is visible");
  }
  throw DeviceError("unknown device '{}': the machine has {} of this kind", name, count)
      .hint(fmt::format("the last one is cuda:{}; device_count() counts them", count - 1));
}

}  // namespace

void register_cuda_devices() {
  register_devices(Device::Kind::cuda,
                   {.count = cuda::count_devices,
                    .register_kernels = cuda::register_kernels,
                    .open = [](int index) -> std::unique_ptr<DeviceMemory> {
                      cuda::driver();  // says what is missing
                      expect_device(index, cuda::count_devices());
                      return std::make_unique<cuda::CudaMemory>(cuda::cuda_device(index));
                    }});
}

}  // namespace plait
