// A batch normalisation that is fused into the layer before it, for evaluation.
//
//   const nn::Conv2d both = nn::fuse_conv_bn_eval(net.conv, nn::eval(net.norm));
#pragma once

#include <cstddef>

#include "plait/nn/layers/batch_norm.h"
#include "plait/nn/layers/convolution_layers.h"
#include "plait/nn/layers/linear_layers.h"

namespace plait::nn {

// The convolution, or transposed convolution, that computes bn(conv(x)), where bn is in evaluation
// mode and has running statistics of as many channels as there are outputs. ValueError or
// ShapeError otherwise.
template <size_t rank>
[[nodiscard]] Conv<rank> fuse_conv_bn_eval(const Conv<rank>& conv, const BatchNorm& bn);
template <size_t rank>
[[nodiscard]] ConvTranspose<rank> fuse_conv_bn_eval(const ConvTranspose<rank>& conv,
                                                    const BatchNorm& bn);

// The Linear that computes bn(linear(x)): bn has as many channels as there are outputs, or 1.
[[nodiscard]] Linear fuse_linear_bn_eval(const Linear& linear, const BatchNorm& bn);

}  // namespace plait::nn
