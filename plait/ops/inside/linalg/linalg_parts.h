// Parts of matrices, of the last two dimensions, that the functions and rules of linear algebra are
// made of beside those in matrix_parts.h. Inside of ops.
#pragma once

#include "plait/tensor/tensor.h"

namespace plait {

Tensor adjoint(const Tensor& x);  // the conjugate, transposed
Tensor identity(Dim rows, Dim columns, DType dtype);
Tensor diagonal_part(const Tensor& x);  // 0 beside the diagonal
Tensor strict_tril(const Tensor& x);    // 0 above the diagonal and on it
// What the lower triangle says of a Hermitian matrix.
Tensor hermitian_of_lower(const Tensor& x);
// The rows, or columns, times the numbers of a vector.
Tensor scale_rows(const Tensor& numbers, const Tensor& x);
Tensor scale_columns(const Tensor& x, const Tensor& numbers);

}  // namespace plait
