// Checks that a dtype can represent an integer: u8 has no 300.
#pragma once

#include "plait/tensor/scalar.h"

namespace plait {

// True if the dtype can represent the number (after rounding, if it is not an integer).
bool fits(const Scalar& scalar, DType dtype);
// ValueError if not.
void expect_fits(const Scalar& scalar, DType dtype);

}  // namespace plait
