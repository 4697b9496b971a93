// Rows along an axis of a contiguous array, and pieces of them that threads share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/tensor/sizes.h"

namespace plait::cuda {

// `rows` of `length` elements, which are `inner` elements apart.
struct RowsAlong {
  int64_t rows = 1, length = 1, inner = 1;

  RowsAlong(const Sizes& sizes, int64_t axis) : length(sizes[static_cast<size_t>(axis)]) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (static_cast<int64_t>(i) != axis) rows *= sizes[i];
      if (static_cast<int64_t>(i) > axis) inner *= sizes[i];
    }
  }
};

// Pieces of a row, so that about `wanted` pieces are at work; none is shorter than `least`. A
// function of sizes only: so are results.
struct Pieces {
  static constexpr int64_t kMost = 256;
  int64_t count, each;

  Pieces(const RowsAlong& along, int64_t wanted, int64_t least) {
    const int64_t rows = std::max<int64_t>(along.rows, 1);
    count = std::clamp<int64_t>(std::min(wanted / rows, along.length / least), 1, kMost);
    each = std::max<int64_t>(quotient_up(along.length, count), 1);
    count = std::max<int64_t>(quotient_up(along.length, each), 1);
  }
};

}  // namespace plait::cuda
