// Set operations, under the names of the Array API. A NaN is not equal to any other NaN.
#pragma once

#include "plait/ops/operand.h"

namespace plait {

// True for each element of x that is in `test`.
Tensor isin(const Operand& x, const Operand& test, bool invert = false);

// The distinct elements in ascending order; `indices` holds the flat index (row-major) of the first
// occurrence of each. The other fields are as in Unique.
struct UniqueAll {
  Tensor values, indices, inverse_indices, counts;
};
struct UniqueCounts {
  Tensor values, counts;
};
struct UniqueInverse {
  Tensor values, inverse_indices;
};
UniqueAll unique_all(const Tensor& x);
UniqueCounts unique_counts(const Tensor& x);
UniqueInverse unique_inverse(const Tensor& x);
Tensor unique_values(const Tensor& x);

}  // namespace plait
