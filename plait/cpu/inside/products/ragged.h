// Products of groups of rows (ops/indexing/segment.h), one matrix product a group. ValueError for
// group sizes below 0 or beyond the rows.
#pragma once

#include "plait/tensor/memory/array.h"

namespace plait {

// out[r, j] = Σ_k rows[r, k] · matrices[g, k, j] for the rows r of each group g, else 0.
void ragged_dot(const Array& rows, const Array& matrices, const Array& group_sizes, Array& out);
// out[g, i, j] = Σ_r a[r, i] · b[r, j] over the rows r of group g.
void ragged_outer(const Array& a, const Array& b, const Array& group_sizes, Array& out);

}  // namespace plait
