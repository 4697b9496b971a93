// A contiguous array seen along one axis: `outer` times `inner` rows of `length` elements, which
// are `inner` elements apart.
#pragma once

#include <cstdint>

#include "plait/tensor/sizes.h"

namespace plait {

struct RowView {
  int64_t outer = 1, length = 1, inner = 1;

  RowView(const Sizes& sizes, int64_t axis) : length(sizes[static_cast<size_t>(axis)]) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (static_cast<int64_t>(i) < axis) outer *= sizes[i];
      if (static_cast<int64_t>(i) > axis) inner *= sizes[i];
    }
  }

  int64_t count() const { return outer * inner; }
  // Offset of the first element of a row.
  int64_t offset(int64_t row) const { return row / inner * length * inner + row % inner; }
};

}  // namespace plait
