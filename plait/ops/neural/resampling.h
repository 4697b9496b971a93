// Resizing of images, and sampling of images at the points of a grid. Narrow floats are computed in
// f32.
#pragma once

#include <vector>

#include "plait/tensor/tensor.h"

namespace plait {

enum class Interpolation : uint8_t {
  nearest,        // interpolate() rounds down, as most programs do
  nearest_exact,  // rounds to the nearest element
  linear,         // one to three dimensions
  cubic,          // two dimensions
  area,           // mean of the elements that an output element covers
};

struct InterpolateOptions {
  // One entry per spatial dimension, or one for all: the output sizes, or the scale factors.
  std::vector<Dim> size = {};
  std::vector<double> scale_factor = {};
  Interpolation mode = Interpolation::nearest;
  bool align_corners = false;  // aligns the centres of the corner elements instead of their outer
                               // edges
  // For linear and cubic: when downsampling, averages over all input elements that an output
  // element covers.
  bool antialias = false;
};
// x is [batch, channels, space…].
Tensor interpolate(const Tensor& x, const InterpolateOptions& options);

enum class GridPadding : uint8_t {
  zeros,
  border,      // clamped to the nearest element inside
  reflection,  // reflected at the border, as often as needed
};
struct GridSampleOptions {
  Interpolation mode = Interpolation::linear;  // nearest, linear, or cubic for two dimensions
  GridPadding padding_mode = GridPadding::zeros;
  bool align_corners = false;
};
// x is [batch, channels, space…] with two or three spatial dimensions d, and the grid is [batch,
// output space…, d]. Its coordinates list the last dimension of x first, and run from −1 to 1
// within x.
Tensor grid_sample(const Tensor& x, const Tensor& grid, const GridSampleOptions& options = {});

// The grid of grid_sample for affine maps theta, [batch, d, d + 1], of the coordinates of an image
// of this size, [batch, channels, space…] with d = 2 or 3: [batch, space…, d].
Tensor affine_grid(const Tensor& theta, const std::vector<Dim>& size, bool align_corners = false);

}  // namespace plait
