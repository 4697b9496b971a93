// The functions of cuDNN 9 that Plait calls, with the numbers of NVIDIA's documentation. The
// library is opened when it is first needed; convolutions do without it where there is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "plait/core/settings.h"
#include "plait/cuda/inside/driver/driver.h"
#include "plait/cuda/inside/driver/library.h"

namespace plait {
namespace setting {
extern Setting<std::string> kCudnn;
}

namespace cuda {

class CudaDevice;

using CudnnStatus = int;  // cudnnStatus_t
inline constexpr CudnnStatus kCudnnSuccess = 0;
// CUDNN_STATUS_NOT_SUPPORTED and the codes that say why.
constexpr bool is_declined(CudnnStatus status) { return status / 1000 == 3; }

using CudnnHandle = struct CudnnHandleTag*;
using TensorDescriptor = struct TensorDescriptorTag*;
using FilterDescriptor = struct FilterDescriptorTag*;
using ConvolutionDescriptor = struct ConvolutionDescriptorTag*;

enum class CudnnType : int { f32 = 0, f64 = 1, f16 = 2, bf16 = 9 };      // cudnnDataType_t
enum class FilterOrder : int { channels_first = 0, channels_last = 1 };  // cudnnTensorFormat_t
// cudnnMathType_t. `standard` computes f32 in TF32; `ieee` does not.
enum class CudnnMath : int { standard = 0, tensor_cores = 1, ieee = 3 };
inline constexpr int kCrossCorrelation = 1;  // cudnnConvolutionMode_t: kernels are not reversed
inline constexpr int kDeterministic = 1;     // cudnnDeterminism_t

// cudnnConvolutionFwdAlgoPerf_t, and the same for both gradients.
struct FoundConvolution {
  int algorithm;
  CudnnStatus status;
  float milliseconds;
  size_t workspace_bytes;
  int determinism;
  CudnnMath math;
  int reserved[3];
};

// An operation takes its operands in this order: x and w; w and the gradient of the result; x and
// that gradient. One of the descriptors is that of a filter.
template <class First, class Second, class Result>
struct ConvolutionFunctions {
  CudnnStatus (*find)(CudnnHandle, First, Second, ConvolutionDescriptor, Result, int most,
                      int* found, FoundConvolution*);
  CudnnStatus (*workspace)(CudnnHandle, First, Second, ConvolutionDescriptor, Result, int algorithm,
                           size_t* bytes);
  CudnnStatus (*run)(CudnnHandle, const void* alpha, First, const void* first, Second,
                     const void* second, ConvolutionDescriptor, int algorithm, void* workspace,
                     size_t workspace_bytes, const void* beta, Result, void* result);
};

struct Cudnn {
  size_t (*get_version)();
  const char* (*get_error_string)(CudnnStatus);
  void (*get_last_error)(char* text, size_t bytes);
  CudnnStatus (*create)(CudnnHandle*);
  CudnnStatus (*set_stream)(CudnnHandle, Stream);
  CudnnStatus (*create_tensor)(TensorDescriptor*);
  CudnnStatus (*destroy_tensor)(TensorDescriptor);
  CudnnStatus (*set_tensor)(TensorDescriptor, int type, int rank, const int* sizes,
                            const int* strides);
  CudnnStatus (*create_filter)(FilterDescriptor*);
  CudnnStatus (*destroy_filter)(FilterDescriptor);
  CudnnStatus (*set_filter)(FilterDescriptor, int type, int order, int rank, const int* sizes);
  CudnnStatus (*create_convolution)(ConvolutionDescriptor*);
  CudnnStatus (*destroy_convolution)(ConvolutionDescriptor);
  CudnnStatus (*set_convolution)(ConvolutionDescriptor, int space, const int* padding,
                                 const int* strides, const int* dilation, int mode,
                                 int compute_type);
  CudnnStatus (*set_groups)(ConvolutionDescriptor, int groups);
  CudnnStatus (*set_math)(ConvolutionDescriptor, int math);
  ConvolutionFunctions<TensorDescriptor, FilterDescriptor, TensorDescriptor> forward;
  ConvolutionFunctions<FilterDescriptor, TensorDescriptor, TensorDescriptor> input_gradient;
  ConvolutionFunctions<TensorDescriptor, TensorDescriptor, FilterDescriptor> weight_gradient;
};

// Null if the setting is `off`, or if it is `auto` and no library can be opened, which is logged
// once. DeviceError if the setting names one that cannot be opened. A library stays open; only
// `off` is looked at again.
const Cudnn* cudnn();
LibraryNames cudnn_names();
// For tests: a library of a known path, or the search for known names.
std::optional<Cudnn> open_cudnn(const LibraryNames& names, const std::string& chosen);

// The handle of a device, for one thread at a time, as the library demands: it keeps others out
// while it exists. The device is entered. False if the library does not work on the device, which
// is logged once; DeviceError if the setting names the library.
class LockedCudnn {
 public:
  LockedCudnn(const Cudnn& library, const CudaDevice& device);

  explicit operator bool() const { return handle_ != nullptr; }
  CudnnHandle handle() const { return handle_; }

 private:
  std::unique_lock<std::mutex> lock_;
  CudnnHandle handle_ = nullptr;
};

// DeviceError with the name of the call and the library's words, unless the call succeeded.
void check_cudnn(const Cudnn& library, CudnnStatus status, const char* call);

}  // namespace cuda
}  // namespace plait
