// Tensors as sets of numbers, with the Array API's names: a NaN is like nothing, not even like
// another NaN.
#pragma once

#include "plait/ops/operand.h"

namespace plait {

// Whether each element of x is among the elements of `test`.
Tensor isin(const Operand& x, const Operand& test, bool invert = false);

// The different elements in ascending order; `indices` is where in row-major order the first of
// each is, the others as `unique` gives them.
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
