// Whole numbers that a dtype lacks: 300 is none of u8.
#pragma once

#include "plait/tensor/scalar.h"

namespace plait {

// Whether that dtype has the number, rounded if it is no whole one.
bool fits(const Scalar& scalar, DType dtype);
// ValueError otherwise.
void expect_fits(const Scalar& scalar, DType dtype);

}  // namespace plait
