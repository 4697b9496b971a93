// The functions of cuDNN.
#include "tests/cuda_emulator/abi/cudnn.h"

#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "tests/cuda_emulator/device/findings.h"
#include "tests/cuda_emulator/libraries/cudnn_objects.h"
#include "tests/cuda_emulator/libraries/matmul.h"

namespace emulator {
namespace {

// A handle while a call uses it. The manual: by one thread at a time. A call waits a little when
// threads take turns, so that one that does not keep the others out is found.
class HandleUse {
 public:
  explicit HandleUse(const void* handle) : handle_(handle) {
    if (begin()) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  ~HandleUse() {
    const std::lock_guard lock(mutex());
    users()[handle_].is_there = false;
  }
  HandleUse(const HandleUse&) = delete;

 private:
  struct User {
    bool is_there = false;
    std::thread::id thread = std::this_thread::get_id();
  };

  // True if another thread was the last user.
  bool begin() {
    const std::lock_guard lock(mutex());
    User& user = users()[handle_];
    if (user.is_there) note_finding("cudnn: two threads use a handle together");
    user.is_there = true;
    return std::exchange(user.thread, std::this_thread::get_id()) != std::this_thread::get_id();
  }
  static std::mutex& mutex() {
    static auto* one = new std::mutex;
    return *one;
  }
  static std::map<const void*, User>& users() {
    static auto* all = new std::map<const void*, User>;
    return *all;
  }

  const void* handle_;
};

// The handle of a call, on whose device the context of this thread is.
const CudnnHandle& current_handle(cudnnHandle_t handle) {
  const CudnnHandle& own = cudnn_objects().handles.at(handle);
  refuse(!current_context(), "no current context", CUDNN_STATUS_NOT_INITIALIZED);
  refuse(current_context()->sticky, "an earlier kernel failed", CUDNN_STATUS_EXECUTION_FAILED);
  refuse(current_context()->device != own.device, "the context of another device");
  return own;
}

HostConvolution described(ConvolutionPass pass, cudnnTensorDescriptor_t x,
                          cudnnFilterDescriptor_t w, cudnnTensorDescriptor_t y,
                          cudnnConvolutionDescriptor_t descriptor) {
  HostConvolution c;
  c.pass = pass;
  c.x = cudnn_objects().tensors.at(x);
  c.w = cudnn_objects().filters.at(w);
  c.y = cudnn_objects().tensors.at(y);
  c.window = cudnn_objects().windows.at(descriptor);
  check_convolution(c);
  const char* const setting = std::getenv("PLAIT_EMULATED_CONVOLUTIONS");
  refuse(setting && std::string(setting) == "0", "PLAIT_EMULATED_CONVOLUTIONS is 0",
         CUDNN_STATUS_NOT_SUPPORTED);
  return c;
}

const Algorithm& algorithm_of(ConvolutionPass pass, int number) {
  for (const Algorithm& each : algorithms_of(pass)) {
    if (each.number != number) continue;
    refuse(each.status, "an algorithm that does not support this", each.status);
    return each;
  }
  throw CudnnFailure{CUDNN_STATUS_NOT_SUPPORTED, "an algorithm that is not there"};
}

cudnnStatus_t find_convolution_algorithms(cudnnHandle_t handle, ConvolutionPass pass,
                                          cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                                          cudnnTensorDescriptor_t y,
                                          cudnnConvolutionDescriptor_t descriptor, int wanted,
                                          int* found, cudnnConvolutionAlgoPerf_t* results) {
  const HandleUse use(handle);
  return entered_cudnn([&] {
    current_handle(handle);
    refuse(!found || !results, "no place for results", CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    refuse(wanted < 1, "no algorithms are asked for");
    const HostConvolution c = described(pass, x, w, y, descriptor);
    *found = 0;
    for (const Algorithm& each : algorithms_of(pass)) {
      if (*found == wanted) break;
      results[*found] = {each.number,
                         each.status,
                         static_cast<float>(*found + 1),
                         each.workspace,
                         each.determinism,
                         c.window.math,
                         {}};
      ++*found;
    }
  });
}

cudnnStatus_t find_convolution_workspace(cudnnHandle_t handle, ConvolutionPass pass,
                                         cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                                         cudnnTensorDescriptor_t y,
                                         cudnnConvolutionDescriptor_t descriptor, int algorithm,
                                         size_t* bytes) {
  const HandleUse use(handle);
  return entered_cudnn([&] {
    current_handle(handle);
    described(pass, x, w, y, descriptor);
    required(bytes) = algorithm_of(pass, algorithm).workspace;
  });
}

struct Pointers {
  const void *alpha, *beta, *x, *w, *y;
  void* workspace;
  size_t bytes;
};

// The checks of a call, and its place in the handle's stream.
cudnnStatus_t convolve(cudnnHandle_t handle, ConvolutionPass pass, cudnnTensorDescriptor_t x,
                       cudnnFilterDescriptor_t w, cudnnTensorDescriptor_t y,
                       cudnnConvolutionDescriptor_t descriptor, int algorithm,
                       const Pointers& pointers) {
  const HandleUse use(handle);
  return entered_cudnn([&] {
    const CudnnHandle& own = current_handle(handle);
    HostConvolution c = described(pass, x, w, y, descriptor);
    const Algorithm& chosen = algorithm_of(pass, algorithm);
    refuse(pointers.bytes < chosen.workspace, "less workspace than the algorithm needs",
           CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
    refuse(!pointers.alpha || !pointers.beta, "no factors", CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    const uint32_t type = c.x.type == CUDNN_DATA_DOUBLE ? CUDA_R_64F : CUDA_R_32F;
    c.alpha = loaded_number(static_cast<const char*>(pointers.alpha), type);
    c.beta = loaded_number(static_cast<const char*>(pointers.beta), type);
    c.x_address = reinterpret_cast<uint64_t>(pointers.x);
    c.w_address = reinterpret_cast<uint64_t>(pointers.w);
    c.y_address = reinterpret_cast<uint64_t>(pointers.y);
    c.workspace = reinterpret_cast<uint64_t>(pointers.workspace);
    c.workspace_bytes = chosen.workspace;
    c.is_inexact = chosen.is_inexact;
    check_convolution_pointers(c, own.device);
    Work work;
    work.kind = CU_GRAPH_NODE_TYPE_KERNEL;
    work.run = [c] { return run_convolution(c); };
    enqueue(stream_of(own.stream), std::move(work));
  });
}

}  // namespace
}  // namespace emulator

using namespace emulator;

size_t cudnnGetVersion() { return 91000; }

// Allocates memory of the device.
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  return entered_cudnn([&] {
    refuse(!current_context() || current_context()->sticky, "no context that works",
           CUDNN_STATUS_NOT_INITIALIZED);
    refuse_while_capturing();
    auto made = std::make_unique<CudnnHandle>(CudnnHandle{current_context()->device, nullptr});
    required(handle) =
        reinterpret_cast<cudnnHandle_t>(cudnn_objects().handles.add(std::move(made)));
  });
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  return destroy_cudnn(cudnn_objects().handles, handle);
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, CUstream stream) {
  return entered_cudnn([&] {
    CudnnHandle& own = cudnn_objects().handles.at(handle);
    refuse(stream && stream_of(stream).context->device != own.device, "a stream of another device");
    own.stream = stream;
  });
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, CUstream* stream) {
  return entered_cudnn([&] { required(stream) = cudnn_objects().handles.at(handle).stream; });
}

cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(cudnnConvolutionDescriptor_t descriptor,
                                                    cudnnTensorDescriptor_t x,
                                                    cudnnFilterDescriptor_t w, int rank,
                                                    int* sizes) {
  return entered_cudnn([&] {
    const TensorDescription& input = cudnn_objects().tensors.at(x);
    int64_t found[kMostRank] = {};
    find_output_sizes(cudnn_objects().windows.at(descriptor), input, cudnn_objects().filters.at(w),
                      found);
    refuse(!sizes || rank != input.rank, "another rank than the input's");
    for (int axis = 0; axis < rank; ++axis) sizes[axis] = static_cast<int>(found[axis]);
  });
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
    cudnnConvolutionDescriptor_t descriptor, cudnnTensorDescriptor_t y, int wanted, int* found,
    cudnnConvolutionAlgoPerf_t* results) {
  return find_convolution_algorithms(handle, ConvolutionPass::forward, x, w, y, descriptor, wanted,
                                     found, results);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t handle, cudnnFilterDescriptor_t w, cudnnTensorDescriptor_t dy,
    cudnnConvolutionDescriptor_t descriptor, cudnnTensorDescriptor_t dx, int wanted, int* found,
    cudnnConvolutionAlgoPerf_t* results) {
  return find_convolution_algorithms(handle, ConvolutionPass::backward_data, dx, w, dy, descriptor,
                                     wanted, found, results);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t dy,
    cudnnConvolutionDescriptor_t descriptor, cudnnFilterDescriptor_t dw, int wanted, int* found,
    cudnnConvolutionAlgoPerf_t* results) {
  return find_convolution_algorithms(handle, ConvolutionPass::backward_filter, x, dw, dy,
                                     descriptor, wanted, found, results);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t handle,
                                                      cudnnTensorDescriptor_t x,
                                                      cudnnFilterDescriptor_t w,
                                                      cudnnConvolutionDescriptor_t descriptor,
                                                      cudnnTensorDescriptor_t y, int algorithm,
                                                      size_t* bytes) {
  return find_convolution_workspace(handle, ConvolutionPass::forward, x, w, y, descriptor,
                                    algorithm, bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t handle,
                                                           cudnnFilterDescriptor_t w,
                                                           cudnnTensorDescriptor_t dy,
                                                           cudnnConvolutionDescriptor_t descriptor,
                                                           cudnnTensorDescriptor_t dx,
                                                           int algorithm, size_t* bytes) {
  return find_convolution_workspace(handle, ConvolutionPass::backward_data, dx, w, dy, descriptor,
                                    algorithm, bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t dy,
    cudnnConvolutionDescriptor_t descriptor, cudnnFilterDescriptor_t dw, int algorithm,
    size_t* bytes) {
  return find_convolution_workspace(handle, ConvolutionPass::backward_filter, x, dw, dy, descriptor,
                                    algorithm, bytes);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha,
                                      cudnnTensorDescriptor_t x_descriptor, const void* x,
                                      cudnnFilterDescriptor_t w_descriptor, const void* w,
                                      cudnnConvolutionDescriptor_t descriptor, int algorithm,
                                      void* workspace, size_t bytes, const void* beta,
                                      cudnnTensorDescriptor_t y_descriptor, void* y) {
  return convolve(handle, ConvolutionPass::forward, x_descriptor, w_descriptor, y_descriptor,
                  descriptor, algorithm, {alpha, beta, x, w, y, workspace, bytes});
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                           cudnnFilterDescriptor_t w_descriptor, const void* w,
                                           cudnnTensorDescriptor_t dy_descriptor, const void* dy,
                                           cudnnConvolutionDescriptor_t descriptor, int algorithm,
                                           void* workspace, size_t bytes, const void* beta,
                                           cudnnTensorDescriptor_t dx_descriptor, void* dx) {
  return convolve(handle, ConvolutionPass::backward_data, dx_descriptor, w_descriptor,
                  dy_descriptor, descriptor, algorithm, {alpha, beta, dx, w, dy, workspace, bytes});
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha,
                                             cudnnTensorDescriptor_t x_descriptor, const void* x,
                                             cudnnTensorDescriptor_t dy_descriptor, const void* dy,
                                             cudnnConvolutionDescriptor_t descriptor, int algorithm,
                                             void* workspace, size_t bytes, const void* beta,
                                             cudnnFilterDescriptor_t dw_descriptor, void* dw) {
  return convolve(handle, ConvolutionPass::backward_filter, x_descriptor, dw_descriptor,
                  dy_descriptor, descriptor, algorithm, {alpha, beta, x, dw, dy, workspace, bytes});
}
