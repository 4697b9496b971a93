// The objects behind the handles of cuDNN, and how its functions are entered.
#pragma once

#include <memory>
#include <string>

#include "tests/cuda_emulator/driver/state.h"
#include "tests/cuda_emulator/libraries/host_convolution.h"

namespace emulator {

struct CudnnHandle {
  int device = 0;
  CUstream stream = nullptr;
};

struct CudnnObjects {
  Handles<CudnnHandle> handles;
  Handles<TensorDescription> tensors;
  Handles<FilterDescription> filters;
  Handles<WindowDescription> windows;
};

CudnnObjects& cudnn_objects();

// Keeps the words of cudnnGetLastErrorString, and returns the status.
cudnnStatus_t failed_cudnn(cudnnStatus_t status, const std::string& why);

inline void refuse(bool is_wrong, const char* why, cudnnStatus_t status = CUDNN_STATUS_BAD_PARAM) {
  if (is_wrong) throw CudnnFailure{status, why};
}

// Runs the body of a function of cuDNN: with the driver's lock, and with failures as statuses.
template <class F>
cudnnStatus_t entered_cudnn(F&& body) {
  try {
    const std::lock_guard lock(driver_mutex());
    body();
    return CUDNN_STATUS_SUCCESS;
  } catch (const CudnnFailure& failure) {
    return failed_cudnn(failure.status, failure.why);
  } catch (const Failure& failure) {
    const bool is_capture = failure.result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return failed_cudnn(is_capture ? CUDNN_STATUS_EXECUTION_FAILED : CUDNN_STATUS_BAD_PARAM,
                        "the driver's error " + std::to_string(failure.result));
  } catch (const std::bad_alloc&) {
    return failed_cudnn(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no memory");
  }
}

template <class T, class H>
cudnnStatus_t create_cudnn(Handles<T>& known, H* handle) {
  return entered_cudnn(
      [&] { required(handle) = reinterpret_cast<H>(known.add(std::make_unique<T>())); });
}

template <class T>
cudnnStatus_t destroy_cudnn(Handles<T>& known, const void* handle) {
  return entered_cudnn([&] { known.take(handle); });
}

}  // namespace emulator
