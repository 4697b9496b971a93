// Plait's own matrix product, for every dtype and layout, on one thread. Blocks of the operands are
// packed (and converted to the type of the computation) so that the kernels of product_kernels.h
// read them contiguously.
#pragma once

#include "plait/core/numbers/dtype.h"
#include "plait/ops/inside/products/matrix.h"

namespace plait {

// True for all dtypes but f8 and key.
bool has_product(DType dtype);

// out = a · b, or out + a · b if it accumulates. For narrow floats the sums are rounded at the end.
// Throws TypeError without has_product.
void blocked_product(DType dtype, const Matrix& a, const Matrix& b, const TargetMatrix& out,
                     bool accumulates = false);

}  // namespace plait
