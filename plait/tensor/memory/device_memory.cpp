#include "plait/tensor/memory/device_memory.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"

namespace plait {
namespace {

// Devices are never closed: arrays may outlive everything else.
struct Devices {
  std::recursive_mutex mutex;  // a kind is registered while one of its devices is opened
  DeviceKind functions;
  bool has_kernels = false;
  std::array<std::unique_ptr<DeviceMemory>, Device::kMost> owned;
  std::array<std::atomic<DeviceMemory*>, Device::kMost> open{};
};
Devices& cuda_devices() {
  static Immortal<Devices> devices;
  return *devices;
}

const DeviceKind& functions_of_cuda() {
  if (cuda_devices().functions.open == nullptr) register_cuda_devices();
  return cuda_devices().functions;
}

[[noreturn]] void refuse(Device device, int count) {
  if (count == 0) {
    throw DeviceError("unknown device '{}': the machine has none of this kind", text_of(device))
        .hint("the CPU is 'cpu'");
  }
  throw DeviceError("unknown device '{}': the machine has {} of this kind", text_of(device), count);
}

void register_kernels_of(Devices& devices, const DeviceKind& functions) {
  if (std::exchange(devices.has_kernels, true) || functions.register_kernels == nullptr) return;
  functions.register_kernels();
}

void report_at_exit() {
  static const pid_t process = getpid();  // children leave the report to it
  static const int registered = std::atexit([] {
    if (getpid() == process) report_outstanding();
  });
  (void)registered;
}

DeviceMemory& open_device(Device device) {
  Devices& devices = cuda_devices();
  const std::lock_guard lock(devices.mutex);
  report_at_exit();
  std::unique_ptr<DeviceMemory>& memory = devices.owned[device.index];
  if (memory == nullptr) {
    const DeviceKind& functions = functions_of_cuda();
    register_kernels_of(devices, functions);
    memory = functions.open(device.index);
    if (memory == nullptr) refuse(device, functions.count());
    devices.open[device.index].store(memory.get(), std::memory_order_release);
  }
  return *memory;
}

}  // namespace

DeviceMemory& device_memory(Device device) {
  if (device.is_cpu())
    throw ValueError("device_memory: the CPU has none; its memory is the host's");
  DeviceMemory* const open = cuda_devices().open[device.index].load(std::memory_order_acquire);
  return open != nullptr ? *open : open_device(device);
}

void report_outstanding() noexcept {
  for (std::atomic<DeviceMemory*>& each : cuda_devices().open) {
    DeviceMemory* const memory = each.load(std::memory_order_acquire);
    if (memory == nullptr) continue;
    try {
      memory->synchronize();
    } catch (const Error& error) {
      fmt::print(stderr, "plait: an error for which the host did not wait: {}\n", error.what());
    } catch (...) {
      fmt::print(stderr, "plait: a device failed while the process ended\n");
    }
  }
}

void register_devices(Device::Kind kind, const DeviceKind& functions) {
  if (kind == Device::Kind::cpu) throw ValueError("the CPU needs no registration");
  const std::lock_guard lock(cuda_devices().mutex);
  cuda_devices().functions = functions;
}

void load_device_kernels(Device::Kind kind) {
  if (kind == Device::Kind::cpu) return;
  const std::lock_guard lock(cuda_devices().mutex);
  register_kernels_of(cuda_devices(), functions_of_cuda());
}

int device_count(Device::Kind kind) {
  if (kind == Device::Kind::cpu) return 1;
  const std::lock_guard lock(cuda_devices().mutex);
  return functions_of_cuda().count();
}

}  // namespace plait
