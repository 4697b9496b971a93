// Products of consecutive groups of rows with one matrix each (ops/indexing/segment.h). Throws
// ValueError for negative group sizes, and if their sum exceeds the number of rows.
#pragma once

#include "plait/tensor/memory/array.h"

namespace plait {

// out[r, j] = Σ_k rows[r, k] · matrices[g, k, j] for the rows r of each group g; 0 for other rows.
void ragged_dot(const Array& rows, const Array& matrices, const Array& group_sizes, Array& out);
// out[g, i, j] = Σ_r a[r, i] · b[r, j] over the rows r of group g.
void ragged_outer(const Array& a, const Array& b, const Array& group_sizes, Array& out);

}  // namespace plait
