// Sorting along an axis, on the CPU. NaN is the greatest value, −0 and 0 are equal, and sorts are
// stable, so the result does not depend on the number of threads.
#pragma once

#include <cstdint>

#include "plait/tensor/memory/array.h"

namespace plait {

// For all functions below: `x` has any layout and a dtype with an order (else TypeError). Results
// are contiguous, of the right sizes, and writable. Indices are i64.

// `permutation` may be null, which is faster.
void sort(const Array& x, int64_t axis, bool descending, Array& values, Array* permutation);

// The `count` largest or smallest, in order. Throws ValueError if there are fewer.
void topk(const Array& x, int64_t axis, int64_t count, bool largest, Array& values, Array& indices);

// The index at which each of `values` can be inserted into its row of `sorted`, before or behind
// equal elements. All sizes but the last are the same.
void search_sorted(const Array& sorted, const Array& values, bool behind, Array& places);

// The index of the first greatest or least element, or of the first NaN if there is one. Throws
// ValueError for empty rows.
void arg_extreme(const Array& x, int64_t axis, bool greatest, Array& places);

// The distinct elements of a vector in ascending order, the index of each element among them, the
// number of occurrences, and the first occurrence. Without `equal_nan` each NaN is distinct.
struct Different {
  Array values, inverse, counts, first;
};
Different different_of(const Array& x, bool equal_nan);

}  // namespace plait
