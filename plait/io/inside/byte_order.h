// Numbers that a file holds with their highest byte first.
#pragma once

#include "plait/tensor/memory/array.h"

namespace plait {

// Turns around the bytes of each element of an array that is writable and contiguous.
void reverse_byte_order(Array& array);

}  // namespace plait
