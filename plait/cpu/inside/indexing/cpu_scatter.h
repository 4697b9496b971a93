// Updates of rows by integer indices (ops/indexing/scatter.h).
#pragma once

#include <span>

#include "plait/ops/indexing/scatter.h"
#include "plait/tensor/memory/array.h"

namespace plait {

// Writes into x, which is contiguous and writable. All indices are checked before anything is
// written.
//
// Updates of one element are combined in the order of the points, whatever the number of threads,
// so results are bitwise reproducible. If rows are long, threads share the columns. Otherwise the
// points are sorted (stably) by the places of their rows, and each thread has its part of the rows.
// Sums and products of floats of 16 bits or less are computed in f32 and rounded once.
void write_rows(Combine combine, Array& x, const Array& updates, std::span<const Array> indices,
                const GatherAttributes& attributes);

}  // namespace plait
