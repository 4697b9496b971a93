// Helpers of interpolate() and grid_sample(): each output element is a weighted sum of a few input
// elements.
#pragma once

#include <vector>

#include "plait/tensor/tensor.h"

namespace plait {

// One contributing input element along a dimension.
struct Tap {
  Tensor index;   // i64
  Tensor weight;  // empty: 1
  Tensor valid;   // bool, false for an index outside; empty: all inside
};

// The sum over all combinations of one tap per dimension, for the last dimensions of x. Indices and
// weights are broadcast to one shape, whose last dimensions are the new spatial ones.
Tensor sum_of_taps(const Tensor& x, const std::vector<std::vector<Tap>>& taps);

// Weights of four neighbours, by the cubic convolution kernel that PyTorch uses, for a position at
// fraction `part` between the second and the third.
std::vector<Tensor> cubic_weights(const Tensor& part);

}  // namespace plait
