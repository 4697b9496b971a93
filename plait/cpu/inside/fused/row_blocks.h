// The rows of a kernel with trailing products: the blocks in which they are computed, and the
// columns of a block that matter.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "plait/compile/inside/plans/needed_columns.h"
#include "plait/compile/inside/targets/fused_kernel.h"
#include "plait/ops/inside/products/batched_products.h"
#include "plait/tensor/memory/array.h"

namespace plait::cpu {

struct ColumnRange {
  int64_t first, end;

  int64_t count() const { return end - first; }
  friend bool operator==(const ColumnRange&, const ColumnRange&) = default;
};

// Blocks depend on this, besides sizes.
struct RowNeeds {
  int64_t row_bytes = 0;  // bytes of one column of all arrays of rows
  int64_t sum_bytes = 0;  // bytes of all sums over rows
  bool has_mask = false;  // blocks are smaller: their rows have a range of columns together
};

// Rows are counted over all matrices. Nothing depends on the number of threads.
struct RowBlocks {
  // The matrices are products of the arrays.
  static RowBlocks of(const Array& a, const Array& b, const RowNeeds& needs);

  Sizes batch = {};      // the dimensions of the matrices
  int64_t matrices = 0;  // their number
  int64_t rows = 0, columns = 0;
  int64_t size = 0;   // rows of a block, of which the last one of a matrix may have fewer; 0 if
                      // there is nothing to compute
  int64_t parts = 1;  // parts of a matrix, for one thread each

  int64_t of_matrix() const { return (rows + size - 1) / size; }
  int64_t rows_of(int64_t block) const { return std::min(size, rows - block * size); }
  int64_t first_row(int64_t matrix, int64_t block) const { return matrix * rows + block * size; }
  ColumnRange all_columns() const { return {0, columns}; }
  // Ends are multiples of a unit, so that products of few sizes are prepared.
  ColumnRange rounded(const ColumnRange& range) const;
};

// The matrices of an array, whose leading dimensions are broadcast to those of the blocks. The
// library can read each.
class Matrices {
 public:
  Matrices(Array array, const Sizes& batch);

  DType dtype() const { return array_.dtype(); }
  Matrix matrix(int64_t number) const;
  // True if products with 0 are 0, and others do not overflow: all numbers are finite, and not
  // huge.
  bool are_tame(int64_t number) const;

 private:
  Array array_;
  Matrix matrix_;
  Layout batch_;
};

// The mask of a kernel.
class MaskRows {
 public:
  // `nest_sizes` are those whose values are in `sizes`. Columns must be adjacent, or the same.
  MaskRows(const compile::ColumnMask& mask, const std::byte* data, std::span<const Dim> nest_sizes,
           const compile::KernelSizes& sizes, const RowBlocks& blocks);

  // The smallest range with all columns that are true in one of the rows of a block, rounded.
  ColumnRange columns_of_block(int64_t first_row, int64_t rows) const {
    return ranges_.at({row(first_row), rows});
  }

 private:
  const std::byte* row(int64_t number) const;
  ColumnRange columns_of(int64_t first_row, int64_t rows) const;
  void find_ranges(const RowBlocks& blocks);

  const std::byte* data_;
  const std::vector<int64_t>& outer_;
  const int64_t columns_;
  std::vector<int64_t> strides_;
  int64_t column_stride_ = 0;
  // By the first row of a block, and the number of its rows. Matrices often have the same mask.
  std::map<std::pair<const std::byte*, int64_t>, ColumnRange> ranges_;
};

// True if the elements of all rows outside of the range are 0.
bool are_zero_outside(const ColumnRange& range, DType dtype, const Matrix& rows);

// True if all numbers are finite, and greater than the bound.
bool are_above(const std::byte* numbers, DType dtype, int64_t count, double bound);

}  // namespace plait::cpu
