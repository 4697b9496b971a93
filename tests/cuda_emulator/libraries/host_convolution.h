// A convolution as cuDNN describes it, and its three passes, with sums in double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tests/cuda_emulator/abi/cudnn.h"

namespace emulator {

// A status that a function of cuDNN returns, and the words of cudnnGetLastErrorString.
struct CudnnFailure {
  cudnnStatus_t status;
  std::string why;
};

constexpr size_t kMostRank = CUDNN_DIM_MAX;

struct TensorDescription {
  bool is_set = false;
  int type = 0, rank = 0;
  int64_t sizes[kMostRank] = {}, strides[kMostRank] = {};

  int64_t count() const;
  int64_t extent() const;  // elements from the first to the last in memory
  bool is_packed(bool has_channels_last) const;
};

// The strides of a filter follow from its format.
struct FilterDescription : TensorDescription {
  int format = CUDNN_TENSOR_NCHW;
};

void set_packed_strides(TensorDescription& tensor, bool has_channels_last);

struct WindowDescription {
  bool is_set = false;
  int length = 0;
  int64_t padding[kMostRank] = {}, strides[kMostRank] = {}, dilation[kMostRank] = {};
  int mode = CUDNN_CROSS_CORRELATION, compute_type = CUDNN_DATA_FLOAT;
  int groups = 1, math = CUDNN_DEFAULT_MATH;
};

enum class ConvolutionPass { forward, backward_data, backward_filter };

struct HostConvolution {
  ConvolutionPass pass = ConvolutionPass::forward;
  TensorDescription x, y;
  FilterDescription w;
  WindowDescription window;
  uint64_t x_address = 0, w_address = 0, y_address = 0, workspace = 0;
  size_t workspace_bytes = 0;
  double alpha = 1, beta = 0;
  bool is_inexact = false;  // the last bit of each result is wrong

  const TensorDescription& result() const;
  uint64_t result_address() const;
};

// The algorithms of a pass, as the heuristic answers them: the first ones are not deterministic,
// transform their operands, are not supported, or take more memory than a device has.
struct Algorithm {
  int number;
  cudnnStatus_t status;
  size_t workspace;
  int determinism;
  bool is_inexact;
};
std::span<const Algorithm> algorithms_of(ConvolutionPass pass);

// The sizes of y. CudnnFailure for descriptors that do not fit each other.
void find_output_sizes(const WindowDescription& window, const TensorDescription& x,
                       const FilterDescription& w, int64_t (&sizes)[kMostRank]);
// The demands of the manual on sizes, types and layouts, and on the pointers of a call on a device.
void check_convolution(const HostConvolution& convolution);
void check_convolution_pointers(const HostConvolution& convolution, int device);

// The code of numbers.cpp for a cudnnDataType_t.
uint32_t number_type(int type);

// Convolves, as work of a stream.
CUresult run_convolution(const HostConvolution& convolution);

}  // namespace emulator
