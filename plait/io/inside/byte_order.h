// Big-endian numbers in files.
#pragma once

#include "plait/tensor/memory/array.h"

namespace plait {

// Reverses the bytes of each element of a writable contiguous array.
void reverse_byte_order(Array& array);

}  // namespace plait
