// Products of many rows with one matrix b, which is first packed into the layout that the library
// reads fastest. Packing costs as much as the products of a few rows.
#pragma once

#include <memory>

#include "plait/cpu/inside/libraries/library_product.h"
#include "plait/cpu/inside/products/kept_packings.h"
#include "plait/tensor/memory/array.h"

namespace plait {

class PackedProducts {
 public:
  // Packs b on all threads, unless its memory keeps it packed, and rounds it if it is wider. Null
  // if that does not pay, or the library has no such product. Both matrices must have a layout that
  // the library takes.
  static std::unique_ptr<PackedProducts> of(DType dtype, const Matrix& a, const RightMatrix& b);

  int64_t row_blocks() const;
  int64_t first_row(int64_t block) const { return std::min(block * rows_, a_.rows); }
  // The product of a block of rows, which are contiguous. If the rows of a are columns in memory,
  // they are transposed first.
  void run(int64_t block, std::byte* out) const;

 private:
  PackedProducts(DType dtype, const Matrix& a);
  bool prepare(const RightMatrix& b);
  void pack(const RightMatrix& b);

  const DType dtype_;
  const Matrix a_;
  const int64_t rows_;  // rows of every block but the last
  std::shared_ptr<PackedLibraryProduct> product_;
  Buffer packed_;
};

}  // namespace plait
