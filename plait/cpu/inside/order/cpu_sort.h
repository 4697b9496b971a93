// Order along an axis, on the CPU. A NaN is the greatest, −0 and 0 are alike, and those alike stay
// in the order that they have, so there is one result, whatever the number of threads.
#pragma once

#include <cstdint>

#include "plait/tensor/memory/array.h"

namespace plait {

// All that follows: `x` of any layout and any dtype that has an order, TypeError else; the results
// in a row, of the right sizes, and writable. Where elements were is i64.

// `permutation` may be null, which is faster.
void sort(const Array& x, int64_t axis, bool descending, Array& values, Array* permutation);

// The `count` largest or smallest, in order; ValueError where there are fewer.
void topk(const Array& x, int64_t axis, int64_t count, bool largest, Array& values, Array& indices);

// Where each of `values` would go into its row of `sorted`, before those alike or behind them. All
// sizes but the last are the same.
void search_sorted(const Array& sorted, const Array& values, bool behind, Array& places);

// Where the greatest, or the least, or else a NaN is first. ValueError where there is nothing.
void arg_extreme(const Array& x, int64_t axis, bool greatest, Array& places);

// The different elements of a vector in ascending order, which of them each element is, how often
// each is there, and where it is first. Without `equal_nan` each NaN differs from all others.
struct Different {
  Array values, inverse, counts, first;
};
Different different_of(const Array& x, bool equal_nan);

}  // namespace plait
