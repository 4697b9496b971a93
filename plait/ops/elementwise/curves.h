// Functions that are known at some points.
#pragma once

#include "plait/tensor/tensor.h"

namespace plait {

// The straight lines between the points (places[i], values[i]), with places in ascending order, at
// each x; before the first and behind the last point the value there.
Tensor interp(const Tensor& x, const Tensor& places, const Tensor& values);

// The area below the straight lines between neighbours along an axis, which are `step` apart, or
// at `places`: a vector, or of the shape of y.
Tensor trapezoid(const Tensor& y, double step = 1, int64_t axis = -1);
Tensor trapezoid(const Tensor& y, const Tensor& places, int64_t axis = -1);
// That up to each neighbour: one element less along the axis.
Tensor cumulative_trapezoid(const Tensor& y, double step = 1, int64_t axis = -1);
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& places, int64_t axis = -1);

}  // namespace plait
