#include "plait/nn/models/fusion.h"

#include <optional>
#include <string_view>

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"

namespace plait::nn {
namespace {

constexpr std::string_view kOfConv = "nn::fuse_conv_bn_eval";
constexpr std::string_view kOfLinear = "nn::fuse_linear_bn_eval";

void expect_statistics(std::string_view function, const BatchNorm& bn) {
  if (bn.training) {
    throw ValueError("{}: bn is in training mode, where it normalises by the batch", function)
        .at(Location::of_caller())
        .hint("nn::eval(bn)");
  }
  if (bn.running_mean && bn.running_var) return;
  throw ValueError("{}: bn has no running statistics", function)
      .at(Location::of_caller())
      .hint("it was made with track_running_stats = false");
}

void expect_channels(std::string_view function, const BatchNorm& bn, Dim outputs, bool or_one) {
  const Dim channels = bn.running_mean->shape(0);
  if (channels == outputs || (or_one && channels == Dim(1))) return;
  throw ShapeError("{}: bn has {} channels, and the layer {} outputs, expected as many{}", function,
                   channels.text(), outputs.text(), or_one ? ", or 1 channel" : "")
      .at(Location::of_caller());
}

// The factor of each channel.
Tensor scale_of(const BatchNorm& bn) {
  const Tensor scale = rsqrt(*bn.running_var + bn.eps);
  return bn.weight ? scale * *bn.weight : scale;
}

// For each channel along the axis.
Tensor along(const Tensor& scale, size_t rank, size_t axis) {
  std::vector<Dim> sizes(rank, Dim(1));
  sizes[axis] = scale.shape(0);
  return reshape(scale, Shape(std::span<const Dim>(sizes)));
}

template <class Layer>
Layer fused(const Layer& layer, const Tensor& weight, const BatchNorm& bn, Dim outputs) {
  const DType dtype = layer.weight.dtype();
  const Tensor moved = layer.bias ? *layer.bias - *bn.running_mean : -*bn.running_mean;
  const Tensor scaled = moved * scale_of(bn), bias = bn.bias ? scaled + *bn.bias : scaled;
  Layer made = layer;
  made.weight = astype(weight, dtype);
  made.bias = astype(broadcast_to(bias, {outputs}), layer.bias ? layer.bias->dtype() : dtype);
  return made;
}

}  // namespace

template <size_t rank>
Conv<rank> fuse_conv_bn_eval(const Conv<rank>& conv, const BatchNorm& bn) {
  expect_statistics(kOfConv, bn);
  const Dim outputs = conv.weight.shape(0);
  expect_channels(kOfConv, bn, outputs, false);
  return fused(conv, conv.weight * along(scale_of(bn), rank + 2, 0), bn, outputs);
}

template <size_t rank>
ConvTranspose<rank> fuse_conv_bn_eval(const ConvTranspose<rank>& conv, const BatchNorm& bn) {
  expect_statistics(kOfConv, bn);
  const Shape shape = conv.weight.shape();  // [channels, outputs / groups, space…]
  const Dim outputs = shape[1] * conv.groups;
  expect_channels(kOfConv, bn, outputs, false);
  std::vector<Dim> sizes{Dim(conv.groups), Dim(shape[0].number() / conv.groups)};
  sizes.insert(sizes.end(), shape.dims().begin() + 1, shape.dims().end());
  const Tensor grouped = reshape(conv.weight, Shape(std::span<const Dim>(sizes)));
  std::vector<Dim> factors(sizes.size(), Dim(1));
  factors[0] = sizes[0];
  factors[2] = sizes[2];
  const Tensor scale = reshape(scale_of(bn), Shape(std::span<const Dim>(factors)));
  return fused(conv, reshape(grouped * scale, shape), bn, outputs);
}

Linear fuse_linear_bn_eval(const Linear& linear, const BatchNorm& bn) {
  expect_statistics(kOfLinear, bn);
  const Dim outputs = linear.weight.shape(0);
  expect_channels(kOfLinear, bn, outputs, true);
  return fused(linear, linear.weight * along(scale_of(bn), 2, 0), bn, outputs);
}

template Conv1d fuse_conv_bn_eval(const Conv1d& conv, const BatchNorm& bn);
template Conv2d fuse_conv_bn_eval(const Conv2d& conv, const BatchNorm& bn);
template Conv3d fuse_conv_bn_eval(const Conv3d& conv, const BatchNorm& bn);
template ConvTranspose1d fuse_conv_bn_eval(const ConvTranspose1d& conv, const BatchNorm& bn);
template ConvTranspose2d fuse_conv_bn_eval(const ConvTranspose2d& conv, const BatchNorm& bn);
template ConvTranspose3d fuse_conv_bn_eval(const ConvTranspose3d& conv, const BatchNorm& bn);

}  // namespace plait::nn
