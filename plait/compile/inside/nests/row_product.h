// A matrix product that is computed some rows at a time, so that who goes on with them finds them
// in the cache. Declared here, defined in `cpu`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "plait/tensor/memory/array.h"

namespace plait::compile {

// Of a · b, whose rows are counted over all matrices of the batch, in their order.
class RowProduct {
 public:
  virtual ~RowProduct() = default;

  virtual int64_t blocks() const = 0;
  struct Rows {
    int64_t first, end;
  };
  virtual Rows rows(int64_t block) const = 0;
  // The rows of a block, side by side. Threads may compute blocks at once.
  virtual void compute(int64_t block, std::byte* out) const = 0;
};

// b is rounded to a's dtype. Null where the whole product at once is faster: it is small, or has
// fewer blocks than there are threads.
std::unique_ptr<RowProduct> row_product(const Array& a, const Array& b);
// In `place`, if that is there.
Array whole_product(const Array& a, const Array& b, Array place = {});

}  // namespace plait::compile
