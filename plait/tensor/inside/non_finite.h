// Counts NaN and infinities in arrays.
#pragma once

#include <cstdint>
#include <string>

#include "plait/tensor/memory/array.h"

namespace plait {

struct NonFinite {
  int64_t nan = 0, inf = 0;  // a complex number with both counts as NaN
  int64_t elements = 0;      // the total
  Sizes first = {};          // index of the first one in row-major order

  explicit operator bool() const { return nan + inf > 0; }
  // "1 nan and 2 inf among 6 elements, the first at [0, 1]"
  std::string text() const;
};

// The dtype may be any; the counts are 0 unless it is floating or complex.
NonFinite non_finite_in(const Array& array);

// Index of the n-th element in row-major order.
Sizes place_of(int64_t n, const Sizes& sizes);

}  // namespace plait
