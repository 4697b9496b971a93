// The matrix products of one call, as many as their batch has.
#pragma once

#include "plait/cpu/inside/products/matrix.h"
#include "plait/tensor/memory/array.h"

namespace plait {

// `count` matrices along batch dimensions, of which as many as possible have become one, or rows.
struct Products {
  DType dtype;
  int64_t rows, columns, steps;
  Matrix a, b;
  TargetMatrix out;
  Sizes sizes;  // of the batch
  Sizes a_strides, b_strides, out_strides;
  int64_t count = 1;

  // The same, as outᵀ = bᵀ · aᵀ.
  Products transposed() const {
    Products result{
        dtype, columns,   rows,      steps,       b.transposed(), a.transposed(), out.transposed(),
        sizes, b_strides, a_strides, out_strides, count};
    return result;
  }
  int64_t work() const { return rows * columns * steps; }
  int64_t element_size() const { return size_of(dtype); }

  // Where the matrices of one product of the batch begin, in elements.
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

// Of operands that fit each other.
Sizes sizes_of_product(const Layout& a, const Layout& b);

// Of operands and a result that fit each other, as in matmul.h; of matrices at `out_data` that lie
// as `out` says.
Products products_of(const Array& a, const Array& b, const Layout& out, std::byte* out_data);

// Whether the library takes the matrix as it lies: one stride is 1, and the rows or columns do not
// overlap. The stride of a dimension with one element becomes what the library expects.
template <class Byte>
bool fits_library(MatrixOf<Byte>& m) {
  if (m.rows == 1) m.row_stride = m.column_stride == 1 ? m.columns : 1;
  if (m.columns == 1) m.column_stride = m.row_stride == 1 ? m.rows : 1;
  return (m.column_stride == 1 && m.row_stride >= m.columns) ||
         (m.row_stride == 1 && m.column_stride >= m.rows);
}

}  // namespace plait
