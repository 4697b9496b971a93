// Interpolation and integration of sampled functions.
#pragma once

#include "plait/tensor/tensor.h"

namespace plait {

// Linear interpolation of the points (places[i], values[i]) at x; places must be in ascending
// order. Constant outside of the first and the last point.
Tensor interp(const Tensor& x, const Tensor& places, const Tensor& values);

// Integrates by the trapezoidal rule along an axis. Samples are `step` apart, or at `places`, which
// is a vector or has the shape of y.
Tensor trapezoid(const Tensor& y, double step = 1, int64_t axis = -1);
Tensor trapezoid(const Tensor& y, const Tensor& places, int64_t axis = -1);
// The cumulative integral up to each sample but the first: one element less along the axis.
Tensor cumulative_trapezoid(const Tensor& y, double step = 1, int64_t axis = -1);
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& places, int64_t axis = -1);

}  // namespace plait
