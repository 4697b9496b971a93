#include "plait/ops/linalg_parts.h"

#include "plait/ops/create.h"
#include "plait/ops/elementwise.h"
#include "plait/ops/reduce.h"
#include "plait/ops/shape.h"

namespace plait {
namespace {

constexpr std::complex<double> kMinusI{0, -1};

struct Places {
  Tensor row, column;
  explicit Places(const Tensor& x) : Places(x.shape(-2), x.shape(-1)) {}
  Places(Dim rows, Dim columns) : row(expand_dims(arange(rows), 1)), column(arange(columns)) {}
};

}  // namespace

Tensor real_part(const Tensor& x) { return astype(x, real_dtype(x.dtype())); }

Tensor conjugate(const Tensor& x) {
  if (!is_complex(x.dtype())) return x;
  const Tensor imaginary = astype(real_part(x * kMinusI), x.dtype());
  return astype(real_part(x), x.dtype()) + imaginary * kMinusI;
}

Tensor adjoint(const Tensor& x) { return conjugate(matrix_transpose(x)); }

Tensor identity(Dim rows, Dim columns, DType dtype) {
  const Places at(rows, columns);
  return astype(at.row == at.column, dtype);
}

Tensor diagonal_part(const Tensor& x) {
  const Places at(x);
  return where(at.row == at.column, x, 0);
}
Tensor diagonal_of(const Tensor& x) { return sum(diagonal_part(x), -1); }
Tensor upper_part(const Tensor& x) {
  const Places at(x);
  return where(at.row <= at.column, x, 0);
}
Tensor strictly_lower_part(const Tensor& x) {
  const Places at(x);
  return where(at.row > at.column, x, 0);
}

Tensor hermitian_of_lower(const Tensor& x) {
  const Tensor below = strictly_lower_part(x);
  return below + adjoint(below) + astype(real_part(diagonal_part(x)), x.dtype());
}

Tensor scale_rows(const Tensor& numbers, const Tensor& x) { return expand_dims(numbers, -1) * x; }
Tensor scale_columns(const Tensor& x, const Tensor& numbers) {
  return x * expand_dims(numbers, -2);
}

}  // namespace plait
