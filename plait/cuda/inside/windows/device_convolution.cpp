#include "plait/cuda/inside/windows/device_convolution.h"

#include <algorithm>
#include <cmath>

#include "plait/cuda/inside/kernels/device_operands.h"

namespace plait::cuda {
namespace {

// True if positions within the dilated and padded input stay within 32 bits.
bool positions_fit(const ConvolutionShape::Dimension& d) {
  const auto real = [](int64_t number) { return static_cast<double>(number); };
  const double spread =
      std::max(real(d.out + 1) * real(d.stride), real(d.in + 1) * real(d.input_dilation));
  const double most = spread + std::abs(real(d.low)) + real(d.kernel + 1) * real(d.dilation);
  return most < static_cast<double>(int64_t{1} << 30);
}

}  // namespace

DType DeviceConvolution::stored() const {
  const bool is_narrow = is_floating(shape.dtype) && size_of(shape.dtype) < 4;
  return is_narrow ? DType::f32 : shape.dtype;
}

Convolved DeviceConvolution::convolved() const {
  const Sizes &in = x.layout().strides, &kernel = w.layout().strides,
              &result = out.layout().strides;
  Convolved c{.images = shape.images,
              .inputs = shape.inputs,
              .outputs = shape.outputs,
              .group_inputs = shape.group_inputs(),
              .group_outputs = shape.group_outputs(),
              .in_image = in[0],
              .in_channel = in[1],
              .w_output = kernel[0],
              .w_input = kernel[1],
              .out_image = result[0],
              .out_channel = result[1]};
  const auto unused = static_cast<size_t>(3 - shape.rank);
  for (size_t axis = unused; axis < 3; ++axis) {
    const ConvolutionShape::Dimension& d = shape.spatial[axis];
    const size_t own = axis - unused + 2;
    c.axes[axis] = {.in = d.in,
                    .kernel = d.kernel,
                    .out = d.out,
                    .stride = d.stride,
                    .low = d.low,
                    .dilation = d.dilation,
                    .input_dilation = d.input_dilation,
                    .in_step = in[own],
                    .kernel_step = kernel[own],
                    .out_step = result[own]};
  }
  return c;
}

ConvolvedForm DeviceConvolution::form(int64_t total) const {
  using Dimension = ConvolutionShape::Dimension;
  const auto any = [&](auto test) { return std::ranges::any_of(shape.spatial, test); };
  const int64_t most = std::max({total, shape.in_places(), shape.out_places()});
  return {.space = shape.rank,
          .is_strided = any([](const Dimension& d) { return d.stride != 1; }),
          .is_dilated = any([](const Dimension& d) { return d.input_dilation != 1; }),
          .is_narrow =
              fits_32_bits(most) && !any([](const Dimension& d) { return !positions_fit(d); })};
}

}  // namespace plait::cuda
