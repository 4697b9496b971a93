// Rows that integers name, replaced or combined with others (ops/indexing/scatter.h).
#pragma once

#include <span>

#include "plait/ops/indexing/scatter.h"
#include "plait/tensor/memory/array.h"

namespace plait {

// Into x, which is contiguous and writable. All indices are looked at before anything is written.
//
// What reaches one element comes to it in the order of the points, whatever the number of threads,
// so results are the same to the last bit. Threads share the columns where rows are long; otherwise
// the points are sorted, in their order, by where their rows lie, and each thread has its part of
// the rows. Sums and products of floats of 16 bits and less are computed in f32 and rounded once.
void write_rows(Combine combine, Array& x, const Array& updates, std::span<const Array> indices,
                const GatherAttributes& attributes);

}  // namespace plait
