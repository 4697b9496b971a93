// Products of many rows with one matrix b, which is first brought into the layout that the library
// reads fastest: a copy that costs as much as a few rows do.
#pragma once

#include <memory>

#include "plait/cpu/inside/libraries/library_product.h"
#include "plait/cpu/inside/products/matrix.h"
#include "plait/tensor/memory/array.h"

namespace plait {

class PackedProducts {
 public:
  // With b packed, by all threads. Null where that is not worth it, or the library cannot. Both
  // matrices lie as the library takes them.
  static std::unique_ptr<PackedProducts> of(DType dtype, const Matrix& a, const Matrix& b) {
    return of(dtype, a, b, dtype);
  }
  // Of b of another dtype, which is rounded as it is packed.
  static std::unique_ptr<PackedProducts> of(DType dtype, const Matrix& a, const Matrix& b,
                                            DType b_dtype);

  int64_t row_blocks() const;
  int64_t first_row(int64_t block) const { return std::min(block * rows_, a_.rows); }
  // The product of a block of rows, which lie side by side. Rows of a that are columns in memory
  // are turned round for it.
  void run(int64_t block, std::byte* out) const;

 private:
  PackedProducts(DType dtype, const Matrix& a, const Matrix& b, DType b_dtype);
  bool prepare();
  void pack();

  const DType dtype_, b_dtype_;
  const Matrix a_;
  const Matrix b_;
  int64_t rows_ = 0;  // of a block, but for the last one
  std::shared_ptr<PackedLibraryProduct> product_;
  Buffer packed_;
};

}  // namespace plait
