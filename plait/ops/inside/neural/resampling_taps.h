// What interpolate() and grid_sample() are made of: each result is a sum of a few weighted
// elements.
#pragma once

#include <vector>

#include "plait/tensor/tensor.h"

namespace plait {

// One of the elements along a dimension that take part.
struct Tap {
  Tensor index;   // i64
  Tensor weight;  // none: 1
  Tensor valid;   // bool, where the index is inside; none: everywhere
};

// The sum over all combinations of one tap a dimension, of the last dimensions of x. Index and
// weight of all dimensions stretch to one shape, of which as many dimensions are the new space.
Tensor sum_of_taps(const Tensor& x, const std::vector<std::vector<Tap>>& taps);

// Weights of the four neighbours of a place between the second and third, `part` of the way, on the
// cubic curve that PyTorch uses.
std::vector<Tensor> cubic_weights(const Tensor& part);

}  // namespace plait
