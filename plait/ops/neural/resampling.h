// Images of other sizes, and images seen through a grid. Narrow floats are computed in f32.
#pragma once

#include <vector>

#include "plait/tensor/tensor.h"

namespace plait {

enum class Interpolation : uint8_t {
  nearest,        // rounded down, as most programs do
  nearest_exact,  // the nearest one
  linear,         // of each of one to three dimensions
  cubic,          // of two dimensions
  area,           // the mean of what each place covers
};

struct InterpolateOptions {
  // Of each spatial dimension, or one for all: the sizes that come out, or by how much they grow.
  std::vector<Dim> size = {};
  std::vector<double> scale_factor = {};
  Interpolation mode = Interpolation::nearest;
  bool align_corners = false;  // the outermost places lie on each other's middles, not edges
  // Of linear and cubic: where sizes shrink, each place is made of all that it covers.
  bool antialias = false;
};
// x is [batch, channels, space…].
Tensor interpolate(const Tensor& x, const InterpolateOptions& options);

enum class GridPadding : uint8_t {
  zeros,
  border,      // the nearest place inside
  reflection,  // at the border, as often as it takes
};
struct GridSampleOptions {
  Interpolation mode = Interpolation::linear;  // nearest, linear or, of two dimensions, cubic
  GridPadding padding_mode = GridPadding::zeros;
  bool align_corners = false;
};
// x is [batch, channels, space…] of two or three dimensions, the grid [batch, other space…, those
// dimensions]: the last dimension first, from −1 to 1 within x.
Tensor grid_sample(const Tensor& x, const Tensor& grid, const GridSampleOptions& options = {});

}  // namespace plait
