// A CUDA device: its context, its properties, and the stream on which everything is queued.
#pragma once

#include <cstddef>

#include "plait/cuda/inside/driver/driver.h"

namespace plait::cuda {

class CudaDevice {
 public:
  explicit CudaDevice(int index);
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  int index() const { return index_; }
  Stream stream() const { return stream_; }
  int architecture() const { return architecture_; }  // 90 for compute capability 9.0
  int multiprocessors() const { return multiprocessors_; }
  // Shared memory of a block: without asking for more, and at most.
  static constexpr int kSharedBytes = 48 << 10;
  int most_shared_bytes() const { return most_shared_bytes_; }

  // Makes the context that of this thread: before each call of the driver or a library.
  void enter() const;
  // Waits until all that was queued has ended.
  void synchronize() const;

 private:
  const Driver& driver_;
  int index_;
  Context context_ = nullptr;
  Stream stream_ = nullptr;
  int architecture_ = 0, multiprocessors_ = 0, most_shared_bytes_ = 0;
};

// Opened at the first use. The machine has the device.
CudaDevice& cuda_device(int index);

}  // namespace plait::cuda
