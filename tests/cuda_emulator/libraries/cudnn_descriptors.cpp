// The descriptors of cuDNN, and its words for errors.
#include <algorithm>
#include <cstring>

#include "tests/cuda_emulator/libraries/cudnn_objects.h"

namespace emulator {
namespace {

std::string& last_error() {
  thread_local std::string text;
  return text;
}

void set_sizes(TensorDescription& tensor, int type, int rank, const int* sizes) {
  refuse(!sizes, "no sizes", CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  refuse(rank < 4 || rank > CUDNN_DIM_MAX, "a rank that is not 4 to 8", CUDNN_STATUS_NOT_SUPPORTED);
  number_type(type);
  TensorDescription made;
  made.type = type;
  made.rank = rank;
  int64_t count = 1;
  for (int axis = 0; axis < rank; ++axis) {
    refuse(sizes[axis] < 1, "a size below 1");
    made.sizes[axis] = sizes[axis];
    count *= sizes[axis];
    refuse(count > 0x7fffffff, "more than 2^31 - 1 elements", CUDNN_STATUS_NOT_SUPPORTED);
  }
  made.is_set = true;
  tensor = made;
}

void copy_numbers(int64_t (&to)[kMostRank], const int* from, int count, int least,
                  const char* why) {
  refuse(!from, why, CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  for (int i = 0; i < count; ++i) {
    refuse(from[i] < least, why);
    to[i] = from[i];
  }
}

}  // namespace

CudnnObjects& cudnn_objects() {
  static auto* all = new CudnnObjects;
  return *all;
}

cudnnStatus_t failed_cudnn(cudnnStatus_t status, const std::string& why) {
  last_error() = why;
  return status;
}

}  // namespace emulator

using namespace emulator;

const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS: return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED: return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM: return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_BAD_PARAM_NULL_POINTER: return "CUDNN_STATUS_BAD_PARAM_NULL_POINTER";
    case CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER:
      return "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER";
    case CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED: return "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED";
    case CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT:
      return "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT";
    case CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH: return "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH";
    case CUDNN_STATUS_NOT_SUPPORTED: return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE: return "CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE";
    case CUDNN_STATUS_NOT_SUPPORTED_LAYOUT: return "CUDNN_STATUS_NOT_SUPPORTED_LAYOUT";
    case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
      return "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED";
    case CUDNN_STATUS_EXECUTION_FAILED: return "CUDNN_STATUS_EXECUTION_FAILED";
  }
  return "CUDNN_STATUS unknown";
}

// As in cuDNN, reading forgets the text.
void cudnnGetLastErrorString(char* message, size_t bytes) {
  if (!message || !bytes) return;
  const size_t length = std::min(bytes - 1, last_error().size());
  std::memcpy(message, last_error().data(), length);
  message[length] = 0;
  last_error().clear();
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* descriptor) {
  return create_cudnn(cudnn_objects().tensors, descriptor);
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t descriptor) {
  return destroy_cudnn(cudnn_objects().tensors, descriptor);
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t descriptor, int type, int rank,
                                         const int* sizes, const int* strides) {
  return entered_cudnn([&] {
    TensorDescription& own = cudnn_objects().tensors.at(descriptor);
    TensorDescription made;
    set_sizes(made, type, rank, sizes);
    copy_numbers(made.strides, strides, rank, 0, "strides that are not there, or negative");
    for (int axis = 0; axis < rank; ++axis)
      refuse(strides[axis] == 0 && sizes[axis] != 1, "a stride of 0 along more than one element");
    own = made;
  });
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* descriptor) {
  return create_cudnn(cudnn_objects().filters, descriptor);
}

cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t descriptor) {
  return destroy_cudnn(cudnn_objects().filters, descriptor);
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t descriptor, int type, int format,
                                         int rank, const int* sizes) {
  return entered_cudnn([&] {
    FilterDescription& own = cudnn_objects().filters.at(descriptor);
    refuse(format != CUDNN_TENSOR_NCHW && format != CUDNN_TENSOR_NHWC, "an unknown format");
    FilterDescription made;
    made.format = format;
    set_sizes(made, type, rank, sizes);
    set_packed_strides(made, format == CUDNN_TENSOR_NHWC);
    own = made;
  });
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* descriptor) {
  return create_cudnn(cudnn_objects().windows, descriptor);
}

cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t descriptor) {
  return destroy_cudnn(cudnn_objects().windows, descriptor);
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t descriptor, int length,
                                              const int* padding, const int* strides,
                                              const int* dilation, int mode, int compute_type) {
  return entered_cudnn([&] {
    WindowDescription& own = cudnn_objects().windows.at(descriptor);
    refuse(length < 2 || length > CUDNN_DIM_MAX - 2, "a number of dimensions that is not 2 to 6");
    refuse(mode != CUDNN_CONVOLUTION && mode != CUDNN_CROSS_CORRELATION, "an unknown mode");
    WindowDescription made;
    copy_numbers(made.padding, padding, length, 0, "a padding that is negative");
    copy_numbers(made.strides, strides, length, 1, "a stride below 1");
    copy_numbers(made.dilation, dilation, length, 1, "a dilation below 1");
    made.length = length;
    made.mode = mode;
    made.compute_type = compute_type;
    made.groups = own.groups;
    made.math = own.math;
    made.is_set = true;
    own = made;
  });
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t descriptor, int groups) {
  return entered_cudnn([&] {
    refuse(groups < 1, "fewer than 1 groups");
    cudnn_objects().windows.at(descriptor).groups = groups;
  });
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t descriptor, int math) {
  return entered_cudnn([&] {
    refuse(math < CUDNN_DEFAULT_MATH || math > CUDNN_FMA_MATH, "an unknown kind of arithmetic");
    cudnn_objects().windows.at(descriptor).math = math;
  });
}
