// Products of many rows with one matrix b, which is first packed into the layout that the library
// reads fastest. Packing costs as much as the products of a few rows.
#pragma once

#include <memory>

#include "plait/cpu/inside/libraries/library_product.h"
#include "plait/ops/inside/products/matrix.h"
#include "plait/tensor/memory/array.h"

namespace plait {

class PackedProducts {
 public:
  // Packs b on all threads. Null if that does not pay, or the library has no such product. Both
  // matrices must have a layout that the library takes.
  static std::unique_ptr<PackedProducts> of(DType dtype, const Matrix& a, const Matrix& b) {
    return of(dtype, a, b, dtype);
  }
  // For b of another dtype, which is rounded when packed.
  static std::unique_ptr<PackedProducts> of(DType dtype, const Matrix& a, const Matrix& b,
                                            DType b_dtype);

  int64_t row_blocks() const;
  int64_t first_row(int64_t block) const { return std::min(block * rows_, a_.rows); }
  // The product of a block of rows, which are contiguous. If the rows of a are columns in memory,
  // they are transposed first.
  void run(int64_t block, std::byte* out) const;

 private:
  PackedProducts(DType dtype, const Matrix& a, const Matrix& b, DType b_dtype);
  bool prepare();
  void pack();

  const DType dtype_, b_dtype_;
  const Matrix a_;
  const Matrix b_;
  int64_t rows_ = 0;  // rows of every block but the last
  std::shared_ptr<PackedLibraryProduct> product_;
  Buffer packed_;
};

}  // namespace plait
