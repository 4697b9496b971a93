// Weights to begin with. Of a shape [outputs, inputs, space…] the fan-in is how many numbers go
// into one output, the fan-out into how many outputs one number goes.
#pragma once

#include "plait/tensor/tensor.h"

namespace plait::nn {

struct Fans {
  int64_t in = 0, out = 0;
};
Fans fans_of(const Shape& shape);  // ShapeError below two dimensions

// Uniform between −bound and bound.
Tensor uniform(const Tensor& key, const Shape& shape, double bound, DType dtype = DType::f32);

// Numbers that keep the size of what goes through layers with leaky_relu (slope 0: relu) between
// them: gain² / fan-in is their variance, where gain² = 2 / (1 + slope²). He and others, 2015.
Tensor kaiming_uniform(const Tensor& key, const Shape& shape, double slope = 0,
                       DType dtype = DType::f32);
Tensor kaiming_normal(const Tensor& key, const Shape& shape, double slope = 0,
                      DType dtype = DType::f32);
// The same in both directions: 2 gain² / (fan-in + fan-out). Glorot and Bengio, 2010.
Tensor xavier_uniform(const Tensor& key, const Shape& shape, double gain = 1,
                      DType dtype = DType::f32);
Tensor xavier_normal(const Tensor& key, const Shape& shape, double gain = 1,
                     DType dtype = DType::f32);

}  // namespace plait::nn
