// A part of an array that another one replaces: what a slice is the reading of.
#pragma once

#include <span>

#include "plait/ops/arrays/slice_range.h"
#include "plait/tensor/tensor.h"

namespace plait {

// x with `part` in place of the elements that a range along each axis takes; the counts are the
// sizes of the part. Written into the memory of x where nobody else has it: x is given away, unless
// it fails. IndexError where a range leads outside.
Tensor update_slice_into(Tensor& x, const Tensor& part, std::span<const SliceRange> ranges);

void register_update_slice();

}  // namespace plait
