// Large products of bf16 by a processor's tile units (tile_kernels.h), by all threads.
#pragma once

#include <cstdint>

#include "plait/core/numbers/dtype.h"
#include "plait/cpu/inside/products/matrix.h"
#include "plait/tensor/memory/buffer.h"

namespace plait {

// Whether there are tile units, and copying the operands costs less than they give.
bool is_worth_tiles(int64_t rows, int64_t columns, int64_t steps);

// Products of the rows of a, in blocks, with b, which is packed at first, and rounded if it is f32;
// both are read fast where one of their strides is 1.
class TileProduct {
 public:
  TileProduct(const Matrix& a, const Matrix& b, DType b_dtype = DType::bf16);

  int64_t row_blocks() const { return rows_.count(); }
  int64_t first_row(int64_t block) const;
  // Groups of columns, where there are fewer blocks than threads.
  int64_t column_groups() const;
  // The product of a block with one of several groups, into the block's rows of the result, whose
  // columns lie side by side. A large result passes the caches by.
  void run(int64_t block, int64_t group, int64_t groups, const TargetMatrix& out,
           bool passes_caches) const;

 private:
  // A dimension in blocks of one size, the last of which may be smaller.
  struct Blocks {
    int64_t whole, size;

    int64_t count() const;
    int64_t size_of(int64_t i) const;
  };
  Blocks rows_at_once() const;

  const Matrix a_, b_;
  const int64_t panel_bytes_;  // packed
  const Blocks panels_;        // of columns
  const Blocks rows_;
  const Buffer packed_b_;
};

// out = a · b.
void tile_product(const Matrix& a, const Matrix& b, const TargetMatrix& out);

}  // namespace plait
