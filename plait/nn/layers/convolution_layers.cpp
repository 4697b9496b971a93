#include "plait/nn/layers/convolution_layers.h"

#include <algorithm>
#include <utility>

#include "plait/core/error.h"
#include "plait/nn/inside/layer_parts.h"
#include "plait/nn/inside/layer_ranks.h"
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

Shape weight_shape(int64_t first, int64_t second, const std::vector<int64_t>& window) {
  Shape shape{first, second};
  for (const int64_t size : window) shape.append(size);
  return shape;
}

std::optional<Dim> if_any(bool has_bias, int64_t outputs) {
  return has_bias ? std::optional<Dim>(outputs) : std::nullopt;
}

std::vector<Padding::Ends> ends_of(const std::vector<int64_t>& before,
                                   const std::vector<int64_t>& after) {
  std::vector<Padding::Ends> ends;
  for (size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    ends.emplace_back(before[i], after[i]);
  }
  return ends;
}

template <size_t rank>
Padding padding_of(const Conv<rank>& layer) {
  if (layer.padding_after.empty()) return PerDimension(layer.padding);
  return ends_of(layer.padding, layer.padding_after);
}

// The images with elements of their own around them.
template <size_t rank>
Tensor padded(const Conv<rank>& layer, const Tensor& images) {
  const std::vector<int64_t>& before = layer.padding;
  std::vector<PadWidth> widths;
  for (const auto& [low, high] :
       ends_of(before, layer.padding_after.empty() ? before : layer.padding_after)) {
    widths.push_back({low, high});
  }
  return pad(images, widths, layer.padding_mode);
}

// Sets the padding by which results have the sizes of the images.
template <size_t rank>
void pad_to_same(Conv<rank>& layer, const std::vector<int64_t>& window) {
  layer.padding_after = layer.padding;
  for (size_t i = 0; i < rank; ++i) {
    if (layer.stride[i] != 1) {
      throw ValueError("the padding to the same size has a stride of {}, expected 1",
                       layer.stride[i]);
    }
    const int64_t total = layer.dilation[i] * (window[i] - 1);
    layer.padding[i] = total / 2;
    layer.padding_after[i] = total - total / 2;
  }
}

// The output padding that leads to this size of the space.
template <size_t rank>
std::vector<int64_t> output_padding_for(const ConvTranspose<rank>& layer, const Tensor& images,
                                        const std::vector<Dim>& size) {
  std::vector<int64_t> more;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t stride = layer.stride[i], dilation = layer.dilation[i];
    const Dim window = (layer.weight.shape(static_cast<int64_t>(i) + 2) - 1) * dilation + 1;
    const Dim images_size = images.shape(static_cast<int64_t>(images.rank() - rank + i));
    const Dim least = (images_size - 1) * stride - 2 * layer.padding[i] + window;
    more.push_back((size[i] - least).number());
    if (more[i] >= 0 && more[i] < std::max(stride, dilation)) continue;
    throw ValueError("output_size is {} along dimension {} of the space, expected {} to {}",
                     size[i], i, least, least + std::max(stride, dilation) - 1);
  }
  return more;
}

}  // namespace

template <size_t rank>
Conv<rank> Conv<rank>::init(const Tensor& key, int64_t channels, int64_t outputs,
                            const PerDimension& window, const ConvOptions& options) {
  const std::string name = name_of_layer("Conv", rank);
  const Call call(name);
  expect_groups(channels, outputs, options.groups);
  const std::vector<int64_t> sizes = window.of(rank, name, "window", 1);
  const Shape shape = weight_shape(outputs, channels / options.groups, sizes);
  auto [weight, bias] = weights_of(key, shape, if_any(options.bias, outputs), options.dtype);
  Conv made{.weight = std::move(weight),
            .bias = std::move(bias),
            .stride = options.stride.of(rank, name, "stride", 1),
            .padding = options.padding.of(rank, name, "padding", 0),
            .dilation = options.dilation.of(rank, name, "dilation", 1),
            .groups = options.groups,
            .padding_mode = options.padding_mode};
  if (options.same_padding) pad_to_same(made, sizes);
  return made;
}

template <size_t rank>
Tensor Conv<rank>::operator()(const Tensor& images) const {
  const bool has_zeros = padding_mode == PadMode::constant;
  return of_rank<rank>(conv1d, conv2d, conv3d, has_zeros ? images : padded(*this, images), weight,
                       or_empty(bias),
                       {.stride = stride,
                        .padding = has_zeros ? padding_of(*this) : Padding(0),
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

template <size_t rank>
Tensor ConvTranspose<rank>::operator()(const Tensor& images,
                                       const std::vector<Dim>& output_size) const {
  const std::string name = name_of_layer("ConvTranspose", rank);
  const Call call(name, images);
  expect_dimensions(name, images, {rank + 1, rank + 2});
  if (output_size.size() != rank && output_size.size() != images.rank()) {
    throw ValueError("output_size has {} numbers, expected {} or {}", output_size.size(), rank,
                     images.rank());
  }
  ConvTranspose wider = *this;
  wider.output_padding = output_padding_for(
      *this, images, {output_size.end() - static_cast<std::ptrdiff_t>(rank), output_size.end()});
  return wider(images);
}

template struct Conv<1>;
template struct Conv<2>;
template struct Conv<3>;
template struct ConvTranspose<1>;
template struct ConvTranspose<2>;
template struct ConvTranspose<3>;
}  // namespace plait::nn
