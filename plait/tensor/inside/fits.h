// Checks that an integer dtype can represent a number: u8 has no 300, and no integer is NaN.
#pragma once

#include "plait/tensor/scalar.h"

namespace plait {

// True if the dtype can represent the number (after truncation, if it is not an integer).
bool fits(const Scalar& scalar, DType dtype);
// ValueError if not.
void expect_fits(const Scalar& scalar, DType dtype);

}  // namespace plait
