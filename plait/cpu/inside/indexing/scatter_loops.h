// Loops that combine the elements of rows, for each dtype and combination.
#pragma once

#include <cstdint>

#include "plait/ops/indexing/scatter.h"
#include "plait/tensor/memory/layout.h"

namespace plait {

// The updates of some points, and their targets.
struct RowUpdates {
  const int64_t*
      offsets;  // offsets of each point's row in x, in elements; kNowhere: the update is dropped
  int64_t points;
  int64_t apart;    // distance between the updates of two points, in elements
  JointLayout row;  // in x, then in the updates
  int64_t row_count;

  int64_t inner() const { return row.sizes.empty() ? 1 : row.sizes.back(); }
};

// The points order[begin…end), or begin…end if there is no order; and for each row the columns of
// the innermost dimension.
struct RowPart {
  const int64_t* order = nullptr;
  int64_t begin = 0, end = 0;
  int64_t first_column = 0, last_column = 0;

  int64_t point(int64_t i) const { return order == nullptr ? i : order[i]; }
};

using RowLoop = void (*)(const RowUpdates& updates, const RowPart& part, std::byte* x,
                         const std::byte* from);

struct RowLoops {
  RowLoop loop = nullptr;
  // Combines the updates of a row with each other, narrow floats in f32, before the row is rounded
  // once: many small updates are not lost beside a large element. Needs an order in which the
  // points of a row are consecutive.
  RowLoop grouped = nullptr;
  int64_t grouped_from = 0;  // elements of a row, for which it is used
};
RowLoops find_row_loops(Combine combine, DType dtype);

}  // namespace plait
