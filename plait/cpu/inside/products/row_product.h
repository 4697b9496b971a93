// A matrix product that is computed in blocks of rows, so that what continues with them finds them
// in the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "plait/tensor/memory/array.h"

namespace plait {

// The product a · b. Rows are counted over all matrices of the batch, in order.
class RowProduct {
 public:
  virtual ~RowProduct() = default;

  virtual int64_t blocks() const = 0;
  struct Rows {
    int64_t first, end;
  };
  virtual Rows rows(int64_t block) const = 0;
  // Computes the rows of a block, contiguously. Threads may compute different blocks concurrently.
  virtual void compute(int64_t block, std::byte* out) const = 0;
};

// b is rounded to a's dtype. Returns null if the whole product is faster: if it is small, or has
// fewer blocks than there are threads.
std::unique_ptr<RowProduct> row_product(const Array& a, const Array& b);
// The right-hand side of a product in bf16, which may be in f32.
Array rounded(const Array& b, DType dtype);
// Writes into `place` unless it is empty.
Array whole_product(const Array& a, const Array& b, Array place = {});

}  // namespace plait
