// Products of many rows with one matrix b, which is first brought into the layout that the library
// reads fastest: a copy that costs as much as a few rows do.
#pragma once

#include <array>
#include <memory>

#include "plait/cpu/library_product.h"
#include "plait/cpu/matrix.h"
#include "plait/tensor/buffer.h"

namespace plait {

// The rows of a in blocks, the columns of b in chunks that are packed by themselves.
class PackedProducts {
 public:
  // With b packed, by all threads. Null where that is not worth it, or the library cannot. Both
  // matrices lie as the library takes them; rows of the result are `out_row` apart.
  static std::unique_ptr<PackedProducts> of(DType dtype, const Matrix& a, const Matrix& b,
                                            int64_t out_row);

  int64_t row_blocks() const;
  int64_t column_chunks() const;
  int64_t first_row(int64_t block) const { return std::min(block * rows_, a_.rows); }
  // The product of a block and a chunk, into the result whose first row is the block's.
  void run(int64_t block, int64_t chunk, std::byte* out) const;

 private:
  PackedProducts(DType dtype, const Matrix& a, const Matrix& b, int64_t out_row);
  bool prepare();
  void pack();
  int64_t columns_of(int64_t chunk) const;

  const DType dtype_;
  const Matrix a_, b_;
  const int64_t out_row_;
  int64_t rows_ = 0, columns_ = 0;  // of a block and of a chunk, but for the last ones
  std::array<std::shared_ptr<PackedLibraryProduct>, 2> products_;  // of a chunk, and of the last
  Buffer packed_;
  int64_t packed_step_ = 0;  // bytes of a chunk
};

}  // namespace plait
