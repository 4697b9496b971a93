// Memory of a CUDA device.
#pragma once

#include "plait/cuda/inside/device/cuda_device.h"
#include "plait/cuda/inside/device/pinned_staging.h"
#include "plait/tensor/memory/array.h"
#include "plait/tensor/memory/device_memory.h"

namespace plait::cuda {

class CudaMemory : public DeviceMemory {
 public:
  explicit CudaMemory(CudaDevice& device);

  std::byte* allocate(int64_t bytes) override;
  void free(std::byte* data, int64_t bytes) noexcept override;
  void copy(const Array& from, Array& to) override;
  void synchronize() override;
  int64_t free_bytes() override;
  uintptr_t stream() const override { return reinterpret_cast<uintptr_t>(stream_); }
  void finish_before(uintptr_t stream) override;

 private:
  void upload(const Array& from, Array& to);
  void download(const Array& from, Array& to);
  // With an array that repeats one element of the host.
  void fill(const Array& one, Array& to);

  const Driver& driver_;
  CudaDevice& device_;
  Stream stream_;
  MemoryPool pool_ = nullptr;
  PinnedStaging staging_;
};

}  // namespace plait::cuda
