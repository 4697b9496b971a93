// Memory of devices other than the CPU. Declared here; implemented by the backends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "plait/core/device.h"

namespace plait {

class Array;

// The memory of one device. Called by several threads concurrently.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  // Not initialised, aligned to 256 bytes; null if there is not enough memory. The address is the
  // device's: the host must not use it.
  virtual std::byte* allocate(int64_t bytes) = 0;
  // Kernels that were started before may still use the bytes.
  virtual void free(std::byte* data, int64_t bytes) noexcept = 0;
  // Copies elements between arrays of the same dtype and sizes; either or both are on this device,
  // the other one is on the host. Waits if `to` is on the host.
  virtual void copy(const Array& from, Array& to) = 0;
  // Waits until all that was started has ended. Throws what kernels have noted, such as an
  // IndexError.
  virtual void synchronize() = 0;
  virtual int64_t free_bytes() = 0;
  // The queue of what is started, as other libraries know it: CUDA's stream.
  virtual uintptr_t stream() const = 0;
  // Other work on that queue, from now on, waits for what was started here before.
  virtual void finish_before(uintptr_t stream) = 0;
};

// DeviceError if this machine or this build has no such device. Not for the CPU.
DeviceMemory& device_memory(Device device);

// Waits for all devices that were used. Prints the errors that their kernels noted meanwhile, such
// as an IndexError, to stderr. Called when the process ends, by Python while it can still name
// lines.
void report_outstanding() noexcept;

// Opens the devices of a kind when they are first used. `open` returns null if the machine has
// fewer devices, and throws a DeviceError that says what is missing if it can use none.
struct DeviceKind {
  int (*count)() = nullptr;              // 0 if there are none; does not throw
  void (*register_kernels)() = nullptr;  // called once, before a device is opened
  std::unique_ptr<DeviceMemory> (*open)(int index) = nullptr;
};
void register_devices(Device::Kind kind, const DeviceKind& functions);

// Registers the GPUs of NVIDIA; called at the first use, unless others were registered. Defined in
// `cuda`.
void register_cuda_devices();

// Registers the kernels of a kind of device, also if the machine has none.
void load_device_kernels(Device::Kind kind);

// How many devices of a kind the machine has.
int device_count(Device::Kind kind);

}  // namespace plait
