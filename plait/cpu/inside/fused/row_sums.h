// Sums over rows, as the gradients of keys and values in attention: products of blocks of rows are
// added up in the result, or in memory of their own if they are rounded afterwards or parts of a
// matrix have their own.
#pragma once

#include <cstdint>

#include "plait/core/numbers/dtype.h"
#include "plait/cpu/inside/fused/row_blocks.h"
#include "plait/tensor/memory/buffer.h"

namespace plait::cpu {

class RowSums {
 public:
  // In the matrices of the result. A thread has memory as long as this exists.
  RowSums(Array& result, const RowBlocks& blocks);

  // The sums of a part, filled with 0.
  std::byte* begin(int64_t matrix, int64_t part) const;
  // Writes the result of a matrix that is one part.
  void end(int64_t matrix) const;
  // The same for several parts, which are added in order.
  void join(int64_t matrix) const;

 private:
  bool is_rounded() const { return wide_ != dtype_; }
  int64_t bytes() const { return count_ * size_of(wide_); }
  std::byte* result(int64_t matrix) const { return result_ + matrix * count_ * size_of(dtype_); }
  std::byte* place(int64_t matrix, int64_t part) const;
  void write(int64_t matrix, const std::byte* sums) const;

  std::byte* const result_;
  const DType dtype_, wide_;
  const int64_t parts_;
  int64_t count_;  // elements of one matrix
  Buffer memory_;
};

}  // namespace plait::cpu
