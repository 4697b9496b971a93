// Initial weights. For the shape [outputs, inputs, space…], the fan-in is the number of inputs of
// one output, the fan-out the number of outputs that one input contributes to.
#pragma once

#include "plait/tensor/tensor.h"

namespace plait::nn {

struct Fans {
  int64_t in = 0, out = 0;
};
Fans fans_of(const Shape& shape);  // ShapeError below two dimensions

// Uniform between −bound and bound.
Tensor uniform(const Tensor& key, const Shape& shape, double bound, DType dtype = DType::f32);

// He initialisation (He et al., 2015): keeps the variance through layers with leaky_relu (slope 0:
// relu). The variance is gain² / fan-in, with gain² = 2 / (1 + slope²).
Tensor kaiming_uniform(const Tensor& key, const Shape& shape, double slope = 0,
                       DType dtype = DType::f32);
Tensor kaiming_normal(const Tensor& key, const Shape& shape, double slope = 0,
                      DType dtype = DType::f32);
// Glorot initialisation (Glorot and Bengio, 2010), for both directions: the variance is 2 gain² /
// (fan-in + fan-out).
Tensor xavier_uniform(const Tensor& key, const Shape& shape, double gain = 1,
                      DType dtype = DType::f32);
Tensor xavier_normal(const Tensor& key, const Shape& shape, double gain = 1,
                     DType dtype = DType::f32);

}  // namespace plait::nn
