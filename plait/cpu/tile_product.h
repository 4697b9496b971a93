// Large products of bf16 by a processor's tile units (tile_kernels.h), by all threads.
#pragma once

#include <cstdint>

#include "plait/cpu/matrix.h"

namespace plait {

// Whether there are tile units, and copying the operands costs less than they give.
bool is_worth_tiles(int64_t rows, int64_t columns, int64_t steps);

// out = a · b. Columns of out lie side by side; a and b are read fast where one of their strides
// is 1.
void tile_product(const Matrix& a, const Matrix& b, const TargetMatrix& out);

}  // namespace plait
