// Parts of matrices (the last two dimensions) for functions and rules of linear algebra, besides
// those in matrix_parts.h. Internal to ops.
#pragma once

#include "plait/tensor/tensor.h"

namespace plait {

Tensor adjoint(const Tensor& x);  // conjugate transpose
Tensor identity(Dim rows, Dim columns, DType dtype);
Tensor diagonal_part(const Tensor& x);  // 0 off the diagonal
Tensor strict_tril(const Tensor& x);    // 0 on and above the diagonal
// The Hermitian matrix with this lower triangle.
Tensor hermitian_of_lower(const Tensor& x);
// Multiplies the rows, or the columns, by the elements of a vector.
Tensor scale_rows(const Tensor& numbers, const Tensor& x);
Tensor scale_columns(const Tensor& x, const Tensor& numbers);

}  // namespace plait
