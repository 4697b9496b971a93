// Layers that change the resolution of [batch, channels, space…].
#pragma once

#include <cstdint>
#include <vector>

#include "plait/ops/neural/resampling.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

// Resamples to a size, or by a scale factor: one number for each spatial dimension, or one for all.
// PyTorch's modes bilinear and trilinear are linear, bicubic is cubic.
struct Upsample {
  std::vector<int64_t> size = {};
  std::vector<double> scale_factor = {};
  Interpolation mode = Interpolation::nearest;
  bool align_corners = false;  // for linear and cubic: aligns the centres of the corner elements
  bool recompute_scale_factor = false;  // uses the ratio of the sizes instead of the scale factor

  Tensor operator()(const Tensor& x) const;
};

// Resamples images [batch, channels, height, width]. Linear interpolation aligns the corners.
template <Interpolation mode>
struct Upsampling2d {
  std::vector<int64_t> size = {};
  std::vector<double> scale_factor = {};

  Tensor operator()(const Tensor& images) const;
};
using UpsamplingNearest2d = Upsampling2d<Interpolation::nearest>;
using UpsamplingBilinear2d = Upsampling2d<Interpolation::linear>;

}  // namespace plait::nn
