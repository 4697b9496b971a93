// Matrix products of our own, for every dtype and layout, by one thread. The blocks of the operands
// are packed (and converted to what is computed in) so that the kernels of product_kernels.h read
// them in a row.
#pragma once

#include "plait/core/numbers/dtype.h"
#include "plait/cpu/inside/products/matrix.h"

namespace plait {

// Whether products of the dtype are computed: all but f8 and key.
bool has_product(DType dtype);

// out = a · b, or out + a · b when it accumulates. The sums of narrow floats are rounded to them at
// the end. TypeError without has_product.
void blocked_product(DType dtype, const Matrix& a, const Matrix& b, const TargetMatrix& out,
                     bool accumulates = false);

}  // namespace plait
