#include "plait/ops/inside/linalg/linalg_parts.h"

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/matrix_parts.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"

namespace plait {
namespace {

Tensor is_on_diagonal(Dim rows, Dim columns) { return expand_dims(iota(rows), 1) == iota(columns); }

}  // namespace

Tensor adjoint(const Tensor& x) { return conj(matrix_transpose(x)); }

Tensor identity(Dim rows, Dim columns, DType dtype) {
  return astype(is_on_diagonal(rows, columns), dtype);
}

Tensor diagonal_part(const Tensor& x) {
  return where(is_on_diagonal(x.shape(-2), x.shape(-1)), x, zeros({}, x.dtype()));
}
Tensor strict_tril(const Tensor& x) { return tril(x, -1); }

Tensor hermitian_of_lower(const Tensor& x) {
  const Tensor below = strict_tril(x);
  return below + adjoint(below) + astype(real(diagonal_part(x)), x.dtype());
}

Tensor scale_rows(const Tensor& numbers, const Tensor& x) { return expand_dims(numbers, -1) * x; }
Tensor scale_columns(const Tensor& x, const Tensor& numbers) {
  return x * expand_dims(numbers, -2);
}

}  // namespace plait
