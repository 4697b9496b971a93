// Replaces a slice of an array.
#pragma once

#include <span>

#include "plait/ops/arrays/slice_range.h"
#include "plait/tensor/tensor.h"

namespace plait {

// Returns x with `part` in place of the elements of a range along each axis, whose counts are the
// sizes of the part. In place if no other tensor shares the memory of x. x is donated, unless an
// error is thrown. Throws IndexError if a range leads outside.
Tensor update_slice_into(Tensor& x, const Tensor& part, std::span<const SliceRange> ranges);

void register_update_slice();

}  // namespace plait
