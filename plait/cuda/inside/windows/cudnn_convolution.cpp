#include "plait/cuda/inside/windows/cudnn_convolution.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "plait/cuda/inside/products/cublaslt_product.h"
#include "plait/cuda/inside/windows/direct_convolution.h"
#include "plait/cuda/inside/windows/padded_input.h"
#include "plait/cuda/inside/windows/prepared_convolution.h"

namespace plait::cuda {
namespace {

using Dimension = ConvolutionShape::Dimension;

// cuDNN takes numbers of 32 bits, and at most so many elements in an array.
constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
constexpr uintptr_t kAlignment = 16;  // bytes, for tensor cores

bool has_cudnn_dtype(DType dtype) {
  return dtype == DType::f64 || dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

// Not a dilated input, nor numbers beyond 32 bits.
bool fits_cudnn(const Dimension& d) {
  const auto real = [](int64_t number) { return static_cast<double>(number); };
  const double padded = real(d.in) + 2 * std::max(real(d.low), 0.);
  const double reached = real(d.out) * real(d.stride) + real(d.kernel) * real(d.dilation);
  return d.input_dilation == 1 && std::max(padded, reached) < static_cast<double>(kMost);
}

int narrowed(int64_t number) { return static_cast<int>(number); }

double product_of(const Sizes& sizes) {
  double product = 1;
  for (const int64_t size : sizes) product *= static_cast<double>(size);
  return product;
}

// The axes of an array from the outermost one in memory to the innermost one.
std::vector<int64_t> axes_in_memory(size_t rank, bool is_last) {
  std::vector<int64_t> axes{0};
  if (!is_last) axes.push_back(1);
  for (size_t axis = 2; axis < rank; ++axis) axes.push_back(static_cast<int64_t>(axis));
  if (is_last) axes.push_back(1);
  return axes;
}

bool is_dense(const Array& x, bool is_last) {
  return x.layout().permuted(axes_in_memory(x.rank(), is_last)).is_contiguous();
}

// True if only the order with the channels beside each other makes it dense.
bool has_channels_last(const Array& x) { return !is_dense(x, false) && is_dense(x, true); }

bool is_aligned(const Array& x) {
  return reinterpret_cast<uintptr_t>(x.device_data()) % kAlignment == 0;
}

// Depthwise convolutions have kernels of their own, here as in PyTorch, which gives cuDNN those
// with the channels last, and in f16 those of 32 channels and more without dilation. A measurement
// on a GPU has to decide where these limits should be, and whether products with a kernel of one
// element are faster by cuBLASLt, which reads the input as it is.
bool is_faster_directly(const ConvolutionShape& s, bool is_last) {
  if (!is_direct(s) || s.groups == 1 || is_last) return false;
  const auto is_dilated = [](const Dimension& d) { return d.dilation != 1; };
  const bool has_even_strides = s.rank == 2 && s.spatial[1].stride == s.spatial[2].stride;
  return !(s.dtype == DType::f16 && has_even_strides && s.inputs >= 32 &&
           std::ranges::none_of(s.spatial, is_dilated));
}

// A dilated input stays with other kernels, which skip its zeros; so does an input that is all
// padding, since cuDNN takes no empty arrays. And so does one that would have to be padded by a
// copy (padded_input.h) of more elements than the patches have: else the copy is cheaper, since
// patches are written once for each element of the kernel.
bool is_for_cudnn(const DeviceConvolution& c, const PaddedInput& padded, bool is_last) {
  const ConvolutionShape& s = c.shape;
  if (!has_cudnn_dtype(s.dtype) || is_faster_directly(s, is_last)) return false;
  if (!std::ranges::all_of(s.spatial, fits_cudnn)) return false;
  const double of_copy = product_of(padded.sizes(s, 3));
  const double of_patches = static_cast<double>(s.images) * static_cast<double>(s.inputs) *
                            static_cast<double>(s.taps()) * static_cast<double>(s.out_places());
  if (padded.is_copy && of_copy > of_patches) return false;
  const auto counts = {of_copy, product_of(c.x.sizes()), product_of(c.w.sizes()),
                       product_of(c.out.sizes())};
  return std::ranges::min(counts) > 0 && std::ranges::max(counts) <= static_cast<double>(kMost);
}

// Channels stay last where the images that are read have them so; the result is copied into
// row-major order. A measurement on a GPU has to decide whether f16 and bf16 are faster so in any
// case, since tensor cores read channels. cuDNN has no f64 with the channels last.
bool takes_channels_last(const DeviceConvolution& c, ConvolutionResult result) {
  if (c.shape.dtype == DType::f64) return false;
  const bool reads_x = result != ConvolutionResult::input_gradient;
  const bool reads_out = result != ConvolutionResult::out;
  return (reads_x && has_channels_last(c.x)) || (reads_out && has_channels_last(c.out));
}

CudnnDescription description_of(const DeviceConvolution& c, ConvolutionResult result,
                                const PaddedInput& padded, bool is_last) {
  const ConvolutionShape& s = c.shape;
  const bool is_high = setting::kFloat32MatmulPrecision.get() == Float32Precision::high;
  const auto space = static_cast<size_t>(std::max(s.rank, 2));
  CudnnDescription d{.device = c.device.index(),
                     .result = result,
                     .dtype = s.dtype,
                     .has_channels_last = is_last,
                     .may_use_tf32 = is_high && s.dtype == DType::f32,
                     .space = static_cast<int>(space),
                     .groups = static_cast<int>(s.groups)};
  std::ranges::transform(padded.sizes(s, space), d.x.begin(), narrowed);
  d.w[0] = narrowed(s.outputs);
  d.w[1] = narrowed(s.group_inputs());
  d.out[0] = narrowed(s.images);
  d.out[1] = narrowed(s.outputs);
  for (size_t axis = 0; axis < space; ++axis) {
    const size_t padded_axis = axis + 3 - space;
    const Dimension& own = s.spatial[padded_axis];
    d.w[axis + 2] = narrowed(own.kernel);
    d.out[axis + 2] = narrowed(own.out);
    d.padding[axis] = narrowed(padded.axes[padded_axis].padding);
    d.strides[axis] = narrowed(own.stride);
    d.dilation[axis] = narrowed(own.dilation);
  }
  return d;
}

// A convolution of lines is one of planes with one row.
Array as_planes(const Array& x) { return x.rank() == 3 ? x.view(x.layout().expanded(2)) : x; }

// One convolution: its arrays as the library takes them, dense and aligned.
class CudnnCall {
 public:
  CudnnCall(const DeviceConvolution& c, const PaddedInput& padded, bool is_last)
      : c_(c), padded_(padded), is_last_(is_last) {}

  Array x_operand() const {
    const Array x = as_planes(c_.x);
    if (!padded_.is_copy) return operand(x);
    Array copy = empty(padded_.sizes(c_.shape, x.rank() - 2));
    pad(c_.device, padded_, x, copy);
    return copy;
  }
  Array operand(const Array& x) const {
    const Array planes = as_planes(x);
    if (is_dense(planes, is_last_) && is_aligned(planes)) return planes;
    Array copy = empty(planes.sizes());
    copy_elements(planes, copy);
    return copy;
  }

  // For the result, or the input's copy.
  Array target(const Array& result, bool is_padded) const {
    const Array planes = as_planes(result);
    if (is_padded) return empty(padded_.sizes(c_.shape, planes.rank() - 2));
    return is_dense(planes, is_last_) && is_aligned(planes) ? planes : empty(planes.sizes());
  }
  void finish(const Array& target, const Array& result, bool is_padded) const {
    Array planes = as_planes(result);
    if (is_padded) return crop(c_.device, padded_, target, planes);
    if (target.device_data() != planes.device_data()) copy_elements(target, planes);
  }

 private:
  Array empty(const Sizes& sizes) const {
    const std::vector<int64_t> axes = axes_in_memory(sizes.size(), is_last_);
    Sizes in_memory = sizes;
    std::vector<int64_t> back(axes.size());
    for (size_t i = 0; i < axes.size(); ++i) {
      in_memory[i] = sizes[static_cast<size_t>(axes[i])];
      back[static_cast<size_t>(axes[i])] = static_cast<int64_t>(i);
    }
    const Array made = Array::empty_on(c_.place(), c_.shape.dtype, in_memory);
    return made.view(made.layout().permuted(back));
  }

  const DeviceConvolution& c_;
  const PaddedInput& padded_;
  bool is_last_;
};

bool convolve(const DeviceConvolution& c, ConvolutionResult result) {
  const PaddedInput padded = padded_input(c.shape);
  const bool is_last = takes_channels_last(c, result);
  if (!is_for_cudnn(c, padded, is_last)) return false;
  const Cudnn* const library = cudnn();
  if (library == nullptr) return false;
  const auto prepared =
      PreparedConvolution::of(*library, c.device, description_of(c, result, padded, is_last));
  if (prepared == nullptr) return false;
  const CudnnCall call(c, padded, is_last);
  const bool is_of_x = result == ConvolutionResult::input_gradient;
  const Array& wanted = is_of_x ? c.x : result == ConvolutionResult::out ? c.out : c.w;
  const Array target = call.target(wanted, is_of_x && padded.is_copy);
  const Array first = is_of_x ? call.operand(c.w) : call.x_operand();
  const Array second = call.operand(result == ConvolutionResult::out ? c.w : c.out);
  if (!prepared->run(first.device_data(), second.device_data(), target.device_data())) return false;
  call.finish(target, wanted, is_of_x && padded.is_copy);
  return true;
}

}  // namespace

bool convolve_by_cudnn(const DeviceConvolution& c) { return convolve(c, ConvolutionResult::out); }
bool find_input_gradient_by_cudnn(const DeviceConvolution& c) {
  return convolve(c, ConvolutionResult::input_gradient);
}
bool find_weight_gradient_by_cudnn(const DeviceConvolution& c) {
  return convolve(c, ConvolutionResult::weight_gradient);
}

}  // namespace plait::cuda
