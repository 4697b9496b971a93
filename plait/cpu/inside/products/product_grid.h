// Division of a matrix product into blocks of the result, for several threads.
#pragma once

#include <cstdint>

namespace plait {

struct ProductGrid {
  int64_t row_blocks = 1, column_blocks = 1;
  int64_t rows = 0, columns = 0;  // rows and columns of all blocks but the last ones

  int64_t blocks() const { return row_blocks * column_blocks; }
};

// At most `wanted` blocks; a function of the sizes only.
ProductGrid product_grid(int64_t rows, int64_t columns, int64_t steps, int64_t element_size,
                         int64_t wanted);

}  // namespace plait
