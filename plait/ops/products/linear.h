// Products of vectors, matrices and stacks of matrices.
#pragma once

#include "plait/ops/operand.h"

namespace plait {

// As in the Array API: the last two dimensions are multiplied as matrices, those before stretch to
// one shape; a vector stands for one row (left) or column (right), which the result is without.
Tensor matmul(const Tensor& a, const Tensor& b);
Tensor outer(const Tensor& a, const Tensor& b);  // of two vectors

void register_linear_ops();

}  // namespace plait
