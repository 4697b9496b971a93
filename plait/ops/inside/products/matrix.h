// A matrix in memory, as kernels access it, with arbitrary strides in elements.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plait {

template <class Byte>
struct MatrixOf {
  Byte* data = nullptr;  // address of element (0, 0)
  int64_t rows = 0, columns = 0;
  int64_t row_stride = 0, column_stride = 0;

  MatrixOf transposed() const { return {data, columns, rows, column_stride, row_stride}; }
  MatrixOf block(int64_t row, int64_t column, int64_t row_count, int64_t column_count,
                 int64_t element_size) const {
    return {data + (row * row_stride + column * column_stride) * element_size, row_count,
            column_count, row_stride, column_stride};
  }
};
using Matrix = MatrixOf<const std::byte>;
using TargetMatrix = MatrixOf<std::byte>;

}  // namespace plait
