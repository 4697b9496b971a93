#include "plait/nn/layers/convolution_layers.h"

#include <utility>

#include "plait/core/error.h"
#include "plait/nn/inside/layer_parts.h"
#include "plait/ops/call.h"
#include "plait/ops/neural/convolution.h"

namespace plait::nn {
namespace {

void expect_groups(int64_t channels, int64_t outputs, int64_t groups) {
  expect_sizes({channels, outputs}, "channels");
  if (groups >= 1 && channels % groups == 0 && outputs % groups == 0) return;
  throw ValueError("{} channels to {} in {} groups: both must be multiples of the groups", channels,
                   outputs, groups);
}

std::string name_of_layer(std::string_view layer, size_t rank) {
  return "nn::" + std::string(layer) + std::to_string(rank) + "d";
}

Shape weight_shape(int64_t first, int64_t second, const std::vector<int64_t>& window) {
  Shape shape{first, second};
  for (const int64_t size : window) shape.append(size);
  return shape;
}

std::optional<Dim> if_any(bool has_bias, int64_t outputs) {
  return has_bias ? std::optional<Dim>(outputs) : std::nullopt;
}

// The images with elements of their own around them.
Tensor padded(const Tensor& images, const std::vector<int64_t>& padding, PadMode mode) {
  std::vector<PadWidth> widths;
  for (const int64_t width : padding) widths.push_back({width, width});
  return pad(images, widths, mode);
}

}  // namespace

template <size_t rank>
Conv<rank> Conv<rank>::init(const Tensor& key, int64_t channels, int64_t outputs,
                            const PerDimension& window, const ConvOptions& options) {
  const std::string name = name_of_layer("Conv", rank);
  const Call call(name);
  expect_groups(channels, outputs, options.groups);
  const Shape shape =
      weight_shape(outputs, channels / options.groups, window.of(rank, name, "window", 1));
  auto [weight, bias] = weights_of(key, shape, if_any(options.bias, outputs), options.dtype);
  return {.weight = std::move(weight),
          .bias = std::move(bias),
          .stride = options.stride.of(rank, name, "stride", 1),
          .padding = options.padding.of(rank, name, "padding", 0),
          .dilation = options.dilation.of(rank, name, "dilation", 1),
          .groups = options.groups,
          .padding_mode = options.padding_mode};
}

template <size_t rank>
Tensor Conv<rank>::operator()(const Tensor& images) const {
  const bool has_zeros = padding_mode == PadMode::constant;
  return of_rank<rank>(conv1d, conv2d, conv3d,
                       has_zeros ? images : padded(images, padding, padding_mode), weight,
                       or_empty(bias),
                       {.stride = stride,
                        .padding = has_zeros ? Padding(PerDimension(padding)) : Padding(0),
                        .dilation = dilation,
                        .groups = groups});
}

template <size_t rank>
ConvTranspose<rank> ConvTranspose<rank>::init(const Tensor& key, int64_t channels, int64_t outputs,
                                              const PerDimension& window,
                                              const ConvTransposeOptions& options) {
  const std::string name = name_of_layer("ConvTranspose", rank);
  const Call call(name);
  expect_groups(channels, outputs, options.groups);
  const Shape shape =
      weight_shape(channels, outputs / options.groups, window.of(rank, name, "window", 1));
  auto [weight, bias] = weights_of(key, shape, if_any(options.bias, outputs), options.dtype);
  return {.weight = std::move(weight),
          .bias = std::move(bias),
          .stride = options.stride.of(rank, name, "stride", 1),
          .padding = options.padding.of(rank, name, "padding", 0),
          .output_padding = options.output_padding.of(rank, name, "output padding", 0),
          .dilation = options.dilation.of(rank, name, "dilation", 1),
          .groups = options.groups};
}

template <size_t rank>
Tensor ConvTranspose<rank>::operator()(const Tensor& images) const {
  return of_rank<rank>(conv_transpose1d, conv_transpose2d, conv_transpose3d, images, weight,
                       or_empty(bias),
                       {.stride = stride,
                        .padding = padding,
                        .output_padding = output_padding,
                        .groups = groups,
                        .dilation = dilation});
}

template struct Conv<1>;
template struct Conv<2>;
template struct Conv<3>;
template struct ConvTranspose<1>;
template struct ConvTranspose<2>;
template struct ConvTranspose<3>;
}  // namespace plait::nn
