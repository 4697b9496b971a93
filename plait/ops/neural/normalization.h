// Numbers brought to a common mean and scale. Narrow floats are computed in f32 and rounded once;
// integers give f32. Weights and biases that are not given are 1 and 0.
#pragma once

#include <optional>

#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/tensor.h"

namespace plait {

// x w^T + bias: x is [..., inputs], w [outputs, inputs].
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

// x over its p-norm along the axes, which is taken to be at least eps.
Tensor normalize(const Tensor& x, double p = 2, const Axes& axes = 1, double eps = 1e-12);

// Over the last dimensions, which `shape` repeats; so are weight and bias. A constant row gives
// the bias, and finite derivatives, as long as eps is above 0.
Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);
// Without the mean. Epsilon is that of the dtype where not given.
Tensor rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight = {},
                std::optional<double> eps = {});

// The following take [batch, channels, space…], and weights and biases [channels].

// Over space and each group of neighbouring channels.
Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);
// Over space.
Tensor instance_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {},
                     double eps = 1e-5);

struct BatchNormOptions {
  Tensor weight = {}, bias = {};
  // Means and variances so far, of each channel; in inference, what is used.
  Tensor running_mean = {}, running_var = {};
  bool training = true;
  double momentum = 0.1;  // the share of this batch in what is run on with
  double eps = 1e-5;
};
struct BatchNormed {
  Tensor values;
  // Of the next step; empty where none were given. No derivatives flow through them.
  Tensor running_mean, running_var;
};
// Over batch and space: of this batch in training, the running ones in inference.
BatchNormed batch_norm(const Tensor& x, const BatchNormOptions& options = {});

// Each element is 0 with a probability from 0 to 1, else 1/(1 − probability) of itself, so that the
// mean stays; of probability 1 all are 0. What stays is a matter of the key alone; without one, of
// the next key of the default stream (random.h).
Tensor dropout(const Tensor& x, double p, const Tensor& key);
Tensor dropout(const Tensor& x, double p = 0.5);
// The same where it is told which are kept.
Tensor dropout(const Tensor& x, const Tensor& keep, double p);

}  // namespace plait
