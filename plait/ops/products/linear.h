// Products of vectors, matrices and stacks of matrices.
#pragma once

#include "plait/ops/operand.h"

namespace plait {

// As in the Array API: multiplies the last two dimensions as matrices and broadcasts those before.
// A vector counts as one row (left) or column (right), and that dimension is removed from the
// result.
Tensor matmul(const Tensor& a, const Tensor& b);
Tensor outer(const Tensor& a, const Tensor& b);  // outer product of two vectors

void register_linear_ops();

}  // namespace plait
