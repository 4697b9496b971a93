// Normalisation, and linear and bilinear layers. Narrow floats are computed in f32 and rounded
// once. Integers are converted to f32. Omitted weights and biases are 1 and 0.
#pragma once

#include <optional>

#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/tensor.h"

namespace plait {

// x w^T + bias: x is [..., inputs], w [outputs, inputs].
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

// Σ a[i] weight[o, i, j] b[j] + bias[o]: a is [..., i], b [..., j], weight [outputs, i, j].
Tensor bilinear(const Tensor& a, const Tensor& b, const Tensor& weight, const Tensor& bias = {});

// x divided by its p-norm along the axes; the norm is clamped to at least eps.
Tensor normalize(const Tensor& x, double p = 2, const Axes& axes = 1, double eps = 1e-12);

// Normalises over the last dimensions, whose shape must be normalized_shape, which weight and bias
// have too. A constant row gives the bias, and finite derivatives as long as eps is above 0.
Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);
// The same without subtracting the mean. eps is the machine epsilon of the dtype by default.
Tensor rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight = {},
                std::optional<double> eps = {});

// The following functions take [batch, channels, space…], and weights and biases [channels].

// Normalises over space and each group of consecutive channels.
Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);
// x / (k + alpha · mean of x² over `size` neighbouring channels)^beta, where channels outside count
// as 0. x is [batch, channels, space…].
Tensor local_response_norm(const Tensor& x, int64_t size, double alpha = 1e-4, double beta = 0.75,
                           double k = 1);
// Normalises over space.
Tensor instance_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {},
                     double eps = 1e-5);

struct BatchNormOptions {
  Tensor weight = {}, bias = {};
  // Running statistics of each channel; in inference they are used to normalise.
  Tensor running_mean = {}, running_var = {};
  bool training = true;
  double momentum = 0.1;  // weight of this batch in the running statistics
  double eps = 1e-5;
};
struct BatchNormed {
  Tensor values;
  // The updated statistics; empty if none were given. No derivatives flow through them.
  Tensor running_mean, running_var;
};
// Normalises over batch and space: with the statistics of this batch in training, with the running
// ones in inference.
BatchNormed batch_norm(const Tensor& x, const BatchNormOptions& options = {});

}  // namespace plait
