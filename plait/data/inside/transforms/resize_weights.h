// The weights with which pixels are resized along one axis, as PyTorch computes them.
#pragma once

#include <cstdint>
#include <vector>

#include "plait/data/transforms/interpolation.h"

namespace plait::data {

// Pixel i of the result is the sum of weights[i · most + k] times pixel first[i] + k, for k <
// count[i].
template <class Real>
struct AxisWeights {
  std::vector<int32_t> first, count;
  std::vector<Real> weights;
  int64_t most = 0;  // per pixel
};

template <class Real>
AxisWeights<Real> axis_weights(int64_t from, int64_t to, transforms::Interpolation interpolation,
                               bool antialias);

// For each pixel of the result, the pixel of the image that is the nearest.
std::vector<int64_t> nearest_pixels(int64_t from, int64_t to,
                                    transforms::Interpolation interpolation);

// Weights times 2^precision as i16, the same number for each pixel: a multiple of `multiple`.
struct FixedWeights {
  std::vector<int32_t> first;
  std::vector<int16_t> weights;
  int64_t each = 0;
  int precision = 0;
};
FixedWeights fixed_weights(const AxisWeights<double>& weights, int64_t multiple);

}  // namespace plait::data
