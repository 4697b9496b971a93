// Rows that integers name (ops/indexing/gather.h): copied on all threads, contiguous ones by
// memcpy.
#pragma once

#include <span>

#include "plait/ops/indexing/gather.h"
#include "plait/tensor/memory/array.h"

namespace plait {

// `result` is contiguous, and of the sizes that rows_shape tells.
void read_rows(const Array& x, std::span<const Array> indices, const GatherAttributes& attributes,
               Array& result);
// Coordinates i64[rank of x, k] of the elements that are not 0.
Array nonzero_of(const Array& x);

}  // namespace plait
