// Repeated products of bf16 by pairs of steps (paired_kernels.h).
#pragma once

#include "plait/cpu/inside/repeated_products/paired_kernels.h"
#include "plait/cpu/inside/repeated_products/repeated_product.h"
#include "plait/cpu/inside/repeated_products/scratch.h"

namespace plait {

class PairedProduct final : public RepeatedProduct {
 public:
  explicit PairedProduct(const PairedKernels& kernels) : kernels_(kernels) {}

  void set_b(const Matrix& b) override;
  void multiply(const Matrix& a, int64_t first_row, int64_t first_column, const TargetMatrix& out,
                bool accumulates) override;

 private:
  // Words of a few rows: strides in words, for rows and for pairs of steps.
  struct Rows {
    const uint32_t* words;
    int64_t rows, row_stride, pair_stride, pairs;
  };
  Rows paired(const Matrix& a);
  void multiply_rows(const Rows& a, int64_t first_row, int64_t first_column,
                     const TargetMatrix& out, bool accumulates);

  const PairedKernels& kernels_;
  int64_t pairs_ = 0;  // in a column of b
  uint32_t* packed_ = nullptr;
  Scratch a_memory_, b_memory_, sum_memory_;
};

}  // namespace plait
