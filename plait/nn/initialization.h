// Initial weights: what torch.nn.init has, as functions of a key, a shape, their options and a
// dtype, which return a new tensor. Of the shape [outputs, inputs, space…], the fan-in is the
// number of inputs of one output, the fan-out the number of outputs that one input contributes to.
// Zeros and ones are in ops/arrays/create.h.
#pragma once

#include <cstdint>

#include "plait/tensor/tensor.h"

namespace plait::nn {

struct Fans {
  int64_t in = 0, out = 0;
};
Fans fans_of(const Shape& shape);  // ShapeError below two dimensions

enum class Fan : uint8_t { in, out };
// An activation behind a layer; `linear` stands for none, and for convolutions.
enum class Nonlinearity : uint8_t { linear, sigmoid, tanh, relu, leaky_relu, selu };
// The factor of the deviation of weights that makes up for the activation. The slope is that of
// leaky_relu.
double calculate_gain(Nonlinearity nonlinearity, double slope = 0.01);

// ---- Distributions.

// Uniform between −bound and bound.
Tensor uniform(const Tensor& key, const Shape& shape, double bound, DType dtype = DType::f32);
// Uniform between a and b.
Tensor uniform(const Tensor& key, const Shape& shape, double a, double b, DType dtype = DType::f32);
Tensor normal(const Tensor& key, const Shape& shape, double mean = 0, double std = 1,
              DType dtype = DType::f32);

struct TruncNormalOptions {
  double mean = 0, std = 1;
  double a = -2, b = 2;  // bounds of the numbers
  DType dtype = DType::f32;
};
// Normally distributed numbers, of which those outside of [a, b] are drawn again.
Tensor trunc_normal(const Tensor& key, const Shape& shape, const TruncNormalOptions& options = {});

// He initialisation (He et al., 2015): keeps the variance through layers with leaky_relu (slope 0:
// relu). The variance is gain² / fan-in, with gain² = 2 / (1 + slope²).
Tensor kaiming_uniform(const Tensor& key, const Shape& shape, double slope = 0,
                       DType dtype = DType::f32);
Tensor kaiming_normal(const Tensor& key, const Shape& shape, double slope = 0,
                      DType dtype = DType::f32);

struct KaimingOptions {
  double a = 0;        // slope of leaky_relu
  Fan mode = Fan::in;  // out: preserves the variance of the gradients instead of the values
  Nonlinearity nonlinearity = Nonlinearity::leaky_relu;
  DType dtype = DType::f32;
};
// The same for another activation, or with the fan-out.
Tensor kaiming_uniform(const Tensor& key, const Shape& shape, const KaimingOptions& options);
Tensor kaiming_normal(const Tensor& key, const Shape& shape, const KaimingOptions& options);

// Glorot initialisation (Glorot and Bengio, 2010), for both directions: the variance is 2 gain² /
// (fan-in + fan-out).
Tensor xavier_uniform(const Tensor& key, const Shape& shape, double gain = 1,
                      DType dtype = DType::f32);
Tensor xavier_normal(const Tensor& key, const Shape& shape, double gain = 1,
                     DType dtype = DType::f32);

// Rows [outputs, everything else], or else columns, that are orthogonal and of length gain,
// uniformly distributed.
Tensor orthogonal(const Tensor& key, const Shape& shape, double gain = 1, DType dtype = DType::f32);
// Normally distributed weights [outputs, inputs], with a share of zeros in each column.
Tensor sparse(const Tensor& key, const Shape& shape, double sparsity, double std = 0.01,
              DType dtype = DType::f32);

// ---- Without random numbers.

Tensor constant(const Shape& shape, double value, DType dtype = DType::f32);
// Ones on the diagonal of a matrix [outputs, inputs]: a Linear of it preserves its inputs.
Tensor eye(const Shape& shape, DType dtype = DType::f32);
// Weights [outputs, inputs, space…] of a convolution that preserves its channels, those of each
// group separately.
Tensor dirac(const Shape& shape, int64_t groups = 1, DType dtype = DType::f32);

}  // namespace plait::nn
