#include "plait/cuda/inside/device/cuda_device.h"

#include <array>
#include <memory>
#include <mutex>

#include "plait/core/device.h"
#include "plait/core/inside/system/immortal.h"

namespace plait::cuda {
namespace {

// CU_DEVICE_ATTRIBUTE_…
constexpr int kMultiprocessorCount = 16;
constexpr int kMajorCapability = 75;
constexpr int kMinorCapability = 76;
constexpr int kMostSharedBytesOptIn = 97;

struct OpenDevices {
  std::mutex mutex;
  std::array<std::unique_ptr<CudaDevice>, Device::kMost> devices;
};

}  // namespace

CudaDevice::CudaDevice(int index) : driver_(driver()), index_(index) {
  DeviceNumber number = 0;
  check(driver_.device_get(&number, index), "cuDeviceGet");
  const auto attribute = [&](int of) {
    int value = 0;
    check(driver_.device_get_attribute(&value, of, number), "cuDeviceGetAttribute");
    return value;
  };
  architecture_ = 10 * attribute(kMajorCapability) + attribute(kMinorCapability);
  multiprocessors_ = attribute(kMultiprocessorCount);
  most_shared_bytes_ = attribute(kMostSharedBytesOptIn);
  check(driver_.device_primary_context_retain(&context_, number), "cuDevicePrimaryCtxRetain");
  enter();
  constexpr unsigned kNonBlocking = 1;
  check(driver_.stream_create(&stream_, kNonBlocking), "cuStreamCreate");
}

void CudaDevice::enter() const { check(driver_.context_set_current(context_), "cuCtxSetCurrent"); }

void CudaDevice::synchronize() const {
  enter();
  check(driver_.stream_synchronize(stream_), "cuStreamSynchronize");
}

CudaDevice& cuda_device(int index) {
  static Immortal<OpenDevices> open;
  const std::lock_guard lock(open->mutex);
  std::unique_ptr<CudaDevice>& device = open->devices.at(static_cast<size_t>(index));
  if (device == nullptr) device = std::make_unique<CudaDevice>(index);
  return *device;
}

}  // namespace plait::cuda
