// The rules of cuDNN's manual and headers for a convolution, and the algorithms that it proposes.
#include <algorithm>

#include "tests/cuda_emulator/device/memory.h"
#include "tests/cuda_emulator/libraries/host_convolution.h"
#include "tests/cuda_emulator/libraries/matmul.h"

namespace emulator {
namespace {

constexpr size_t kSome = size_t{1} << 20, kTooMuch = size_t{1} << 40;
constexpr cudnnStatus_t kFine = CUDNN_STATUS_SUCCESS, kDeclined = CUDNN_STATUS_NOT_SUPPORTED;

constexpr Algorithm kForward[] = {
    {CUDNN_CONVOLUTION_FWD_ALGO_GEMM, kFine, kSome, CUDNN_NON_DETERMINISTIC, true},
    {CUDNN_CONVOLUTION_FWD_ALGO_FFT, kFine, kSome, CUDNN_DETERMINISTIC, true},
    {CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, kFine, kTooMuch, CUDNN_DETERMINISTIC, false},
    {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, kFine, kSome, CUDNN_DETERMINISTIC, false},
    {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, kFine, 0, CUDNN_DETERMINISTIC, false},
    {CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, kDeclined, 0, CUDNN_DETERMINISTIC, true}};
constexpr Algorithm kBackwardData[] = {
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, kFine, 0, CUDNN_NON_DETERMINISTIC, true},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT, kFine, kTooMuch, CUDNN_DETERMINISTIC, true},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, kFine, kSome, CUDNN_DETERMINISTIC, false},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED, kDeclined, 0, CUDNN_DETERMINISTIC, true}};
constexpr Algorithm kBackwardFilter[] = {
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, kFine, 0, CUDNN_NON_DETERMINISTIC, true},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3, kFine, kSome, CUDNN_NON_DETERMINISTIC, true},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT, kFine, kSome, CUDNN_DETERMINISTIC, true},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, kFine, kSome, CUDNN_DETERMINISTIC, false},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, kDeclined, 0, CUDNN_DETERMINISTIC, true}};

// Tensor cores load 16 bytes.
constexpr uint64_t kAlignment = 16;

void require(bool is_so, cudnnStatus_t status, const char* why) {
  if (!is_so) throw CudnnFailure{status, why};
}

void check_types(const HostConvolution& c) {
  const int type = c.x.type, sums = c.window.compute_type;
  require(type == c.w.type && type == c.y.type, CUDNN_STATUS_BAD_PARAM, "types differ");
  const bool is_known =
      type == CUDNN_DATA_DOUBLE ? sums == CUDNN_DATA_DOUBLE : sums == CUDNN_DATA_FLOAT;
  require(is_known, CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE,
          "a type and a type of computing that do not go together");
}

// Filters with the channels last go with tensors that have them so; f64 does not.
void check_layouts(const HostConvolution& c) {
  if (c.w.format == CUDNN_TENSOR_NCHW) return;
  require(c.x.is_packed(true) && c.y.is_packed(true) && c.x.type != CUDNN_DATA_DOUBLE,
          CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "a filter with channels last, tensors without");
}

void check_pointer(uint64_t address, int device, const char* name) {
  require(address != 0, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, name);
  require(address % kAlignment == 0, CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, name);
  require(device_with(address) == device, CUDNN_STATUS_BAD_PARAM, name);
}

}  // namespace

std::span<const Algorithm> algorithms_of(ConvolutionPass pass) {
  switch (pass) {
    case ConvolutionPass::forward: return kForward;
    case ConvolutionPass::backward_data: return kBackwardData;
    case ConvolutionPass::backward_filter: return kBackwardFilter;
  }
  return {};
}

void find_output_sizes(const WindowDescription& window, const TensorDescription& x,
                       const FilterDescription& w, int64_t (&sizes)[kMostRank]) {
  require(window.is_set && x.is_set && w.is_set, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
          "a descriptor that was not set");
  require(x.rank == w.rank, CUDNN_STATUS_BAD_PARAM, "input and filter have different ranks");
  require(window.length == w.rank - 2, CUDNN_STATUS_BAD_PARAM,
          "the convolution has another number of dimensions than the filter");
  require(x.sizes[1] == window.groups * w.sizes[1], CUDNN_STATUS_BAD_PARAM,
          "the channels of the input are not those of the filter in all groups");
  require(w.sizes[0] % window.groups == 0, CUDNN_STATUS_BAD_PARAM,
          "the filter's outputs do not divide into groups");
  sizes[0] = x.sizes[0];
  sizes[1] = w.sizes[0];
  for (int axis = 2; axis < x.rank; ++axis) {
    const int own = axis - 2;
    const int64_t reach = (w.sizes[axis] - 1) * window.dilation[own] + 1;
    const int64_t free = x.sizes[axis] + 2 * window.padding[own] - reach;
    require(free >= 0, CUDNN_STATUS_BAD_PARAM, "a filter larger than the padded input");
    sizes[axis] = free / window.strides[own] + 1;
  }
}

void check_convolution(const HostConvolution& c) {
  int64_t sizes[kMostRank] = {};
  find_output_sizes(c.window, c.x, c.w, sizes);
  require(c.y.is_set, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a descriptor that was not set");
  require(c.y.rank == c.x.rank && std::equal(sizes, sizes + c.x.rank, c.y.sizes),
          CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "the output has other sizes");
  require(c.x.rank == 4 || c.x.rank == 5, CUDNN_STATUS_NOT_SUPPORTED,
          "neither two nor three spatial dimensions");
  check_types(c);
  check_layouts(c);
}

void check_convolution_pointers(const HostConvolution& c, int device) {
  check_pointer(c.x_address, device, "x");
  check_pointer(c.w_address, device, "w");
  check_pointer(c.y_address, device, "y");
  if (c.workspace_bytes > 0) check_pointer(c.workspace, device, "the workspace");
}

}  // namespace emulator
