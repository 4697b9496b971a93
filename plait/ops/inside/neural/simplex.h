// The projection onto the simplex, of vectors along the last axis.
#pragma once

#include "plait/tensor/tensor.h"

namespace plait {

// The nearest vectors of numbers of 0 or more that sum to 1.
Tensor onto_simplex(const Tensor& x);

}  // namespace plait
