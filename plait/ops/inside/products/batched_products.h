// The matrix products of one call, one per element of the batch.
#pragma once

#include "plait/ops/inside/products/matrix.h"
#include "plait/tensor/memory/array.h"

namespace plait {

// `count` products along batch dimensions. Batch dimensions are joined, or merged into the rows,
// where possible.
struct Products {
  DType dtype;
  int64_t rows, columns, steps;
  Matrix a, b;
  TargetMatrix out;
  Sizes sizes;  // sizes of the batch
  Sizes a_strides, b_strides, out_strides;
  int64_t count = 1;

  // The transposed products: outᵀ = bᵀ · aᵀ.
  Products transposed() const {
    Products result{
        dtype, columns,   rows,      steps,       b.transposed(), a.transposed(), out.transposed(),
        sizes, b_strides, a_strides, out_strides, count};
    return result;
  }
  int64_t work() const { return rows * columns * steps; }
  int64_t element_size() const { return size_of(dtype); }

  // The first elements of the matrices of one product of the batch.
  struct Offsets {
    int64_t a = 0, b = 0, out = 0;
  };
  Offsets offsets(int64_t number) const {
    Offsets offsets;
    for (size_t i = sizes.size(); i-- > 0;) {
      const int64_t index = number % sizes[i];
      number /= sizes[i];
      offsets.a += index * a_strides[i];
      offsets.b += index * b_strides[i];
      offsets.out += index * out_strides[i];
    }
    return offsets;
  }
  struct Single {
    Matrix a, b;
    TargetMatrix out;
  };
  Single single(int64_t number) const {
    const Offsets at = offsets(number);
    Single matrices{a, b, out};
    matrices.a.data += at.a * element_size();
    matrices.b.data += at.b * element_size();
    matrices.out.data += at.out * element_size();
    return matrices;
  }
};

// The operands must match.
Sizes sizes_of_product(const Layout& a, const Layout& b);

// Operands and result must match: one rank and dtype, or batch dimensions that are broadcast; the
// result is at `out_data` with the layout `out`. The addresses are those of the arrays' device.
Products products_of(const Array& a, const Array& b, const Layout& out, std::byte* out_data);

// True if the library can read the matrix without a copy: one stride is 1, and rows or columns do
// not overlap. The stride of a dimension of size 1 is set to what the library expects.
template <class Byte>
bool fits_library(MatrixOf<Byte>& m) {
  if (m.rows == 1) m.row_stride = m.column_stride == 1 ? m.columns : 1;
  if (m.columns == 1) m.column_stride = m.row_stride == 1 ? m.rows : 1;
  return (m.column_stride == 1 && m.row_stride >= m.columns) ||
         (m.row_stride == 1 && m.column_stride >= m.rows);
}

}  // namespace plait
