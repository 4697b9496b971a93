// Copies between pageable memory of the host and a device, by way of two pinned buffers in turn:
// while the device copies one, the host fills or reads the other.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include "plait/cuda/inside/device/cuda_device.h"

namespace plait::cuda {

class PinnedStaging {
 public:
  static constexpr size_t kBytes = size_t{16} << 20;  // bytes of each buffer
  // Smaller copies are the driver's, which stages them itself.
  static constexpr size_t kLeastBytes = size_t{64} << 10;

  explicit PinnedStaging(const CudaDevice& device) : device_(device) {}

  // In the order of the device's stream. Returns when `from` has been read; the device may copy
  // later.
  void upload(Address to, const std::byte* from, size_t bytes);
  // Returns when `to` has been written.
  void download(std::byte* to, Address from, size_t bytes);

 private:
  struct Buffer {
    std::byte* memory = nullptr;
    Event copied = nullptr;  // recorded after each copy from or to it
  };

  // False if the machine gives no pinned memory.
  bool open();
  void record(const Buffer& buffer);
  void wait(const Buffer& buffer);

  const CudaDevice& device_;
  std::mutex mutex_;
  std::array<Buffer, 2> buffers_;
};

}  // namespace plait::cuda
