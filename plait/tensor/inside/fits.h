// Checks that an integer dtype can represent a number: u8 has no 300, and no integer is NaN.
#pragma once

#include <string>

#include "plait/tensor/scalar.h"

namespace plait {

// True if the dtype can represent the number (after truncation, if it is not an integer).
bool fits(const Scalar& scalar, DType dtype);
// ValueError if not.
void expect_fits(const Scalar& scalar, DType dtype);
// That ValueError, for a number as text.
[[noreturn]] void refuse_number(const std::string& number, DType dtype);

}  // namespace plait
