// Order-preserving conversion of elements to unsigned integers, in CUDA C++: −0 and 0 have the same
// key, and NaN has the greatest.
#pragma once

#include <cstdint>
#include <string>

#include "plait/core/numbers/dtype.h"

namespace plait::cuda {

// True for booleans, integers and floats.
bool has_order(DType dtype);
// "u32"; bytes: 1, 2, 4, 8.
const char* unsigned_name(int64_t bytes);
// Key: an unsigned type of the size of the dtype, as which elements are read; key_of(bits), and
// kIsFloat, kNaN (the key of NaN).
std::string key_text(DType dtype);

}  // namespace plait::cuda
