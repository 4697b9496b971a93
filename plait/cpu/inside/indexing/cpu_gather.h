// Reading of rows by integer indices (ops/indexing/gather.h), on all threads; contiguous rows are
// copied by memcpy.
#pragma once

#include <span>

#include "plait/ops/indexing/gather.h"
#include "plait/tensor/memory/array.h"

namespace plait {

// `result` is contiguous, with the sizes of rows_shape.
void read_rows(const Array& x, std::span<const Array> indices, const GatherAttributes& attributes,
               Array& result);
// Indices i64[rank of x, k] of the nonzero elements.
Array nonzero_of(const Array& x);

}  // namespace plait
