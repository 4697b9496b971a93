// Consecutive groups of rows, of ragged_dot and ragged_outer (ops/indexing/segment.h).
#pragma once

#include <cstdint>
#include <vector>

#include "plait/tensor/memory/array.h"

namespace plait {

struct RowGroup {
  int64_t begin, end;
};
using RowGroups = std::vector<RowGroup>;

// From the number of rows of each group, integers on the host. ValueError for negative ones, and if
// their sum exceeds `rows`.
RowGroups row_groups(const Array& group_sizes, int64_t rows);

}  // namespace plait
