// Large products of bf16 by Plait's own kernels (bf16_kernels.h), on all threads.
#pragma once

#include <cstdint>

#include "plait/core/numbers/dtype.h"
#include "plait/cpu/inside/products/bf16_kernels.h"
#include "plait/cpu/inside/products/kept_packings.h"
#include "plait/ops/inside/products/matrix.h"
#include "plait/tensor/memory/buffer.h"

namespace plait {

// True if there are such kernels, and they save more than the packing of the operands costs.
bool is_worth_bf16_kernels(int64_t rows, int64_t columns, int64_t steps);

// Products of blocks of rows of a with b. The constructor packs b, unless its memory keeps it
// packed, and rounds it if it is f32. Packing is fast if one of the strides of each operand is 1.
class Bf16Product {
 public:
  Bf16Product(const Matrix& a, const RightMatrix& b);

  int64_t row_blocks() const { return rows_.count(); }
  int64_t first_row(int64_t block) const;
  // Number of column groups into which blocks should be divided, if there are fewer blocks than
  // threads.
  int64_t column_groups() const;
  // Multiplies a block by one of several groups of columns, into the block's rows of the result,
  // whose columns are contiguous. Large results are written past the caches.
  void run(int64_t block, int64_t group, int64_t groups, const TargetMatrix& out,
           bool is_non_temporal) const;

 private:
  // Division of a dimension into blocks of equal size; the last one may be smaller.
  struct Blocks {
    int64_t whole, size;

    int64_t count() const;
    int64_t size_of(int64_t i) const;
  };
  Blocks block_rows() const;

  const Bf16Kernels& kernels_;
  const Matrix a_;
  const int64_t row_panel_bytes_, column_panel_bytes_;  // packed
  const Blocks panels_;                                 // panels of b's columns
  const Blocks rows_;
  Buffer packed_b_;
};

// out = a · b.
void bf16_product(const Matrix& a, const RightMatrix& b, const TargetMatrix& out);

}  // namespace plait
