// What is done in windows that slide over the last one to three dimensions: sums, greatest
// elements, and elements picked by their place. Everything before those dimensions is a plane for
// itself.
#pragma once

#include <span>

#include "plait/tensor/memory/array.h"

namespace plait {

// The windows along one dimension.
struct WindowDimension {
  int64_t size = 1;   // of the space
  int64_t count = 1;  // of windows
  // Window i holds i · stride + k · dilation − padding, for k < window, as far as that is inside.
  int64_t window = 1, stride = 1, dilation = 1, padding = 0;
  // Or from ⌊i · size / count⌋ until before ⌈(i + 1) · size / count⌉.
  bool is_even = false;
};

// All arrays of one call have the same planes; `out` is new, in row-major order.
void window_sum(const Array& x, std::span<const WindowDimension> dimensions, Array& out);
// The transpose: out[p] = the sum over the windows that hold p.
void window_spread(const Array& x, std::span<const WindowDimension> dimensions, Array& out);
// The greatest of each window, or NaN where there is one; the least number of the dtype, or -∞, of
// a window that holds nothing.
void window_maximum(const Array& x, std::span<const WindowDimension> dimensions, Array& out);
// Where in its plane, in row-major order, the first of the greatest elements of each window lies,
// and of NaN where there is one; −1 for a window that holds nothing. `out` is i64.
void window_maximum_index(const Array& x, std::span<const WindowDimension> dimensions, Array& out);

// The last `dimensions` are a plane. out[p, i] = x[p, index[p, i]], or 0 for an index of −1;
// IndexError for one that is not in the plane.
void plane_take(const Array& x, const Array& index, size_t dimensions, Array& out);
// The transpose: out[p, index[p, i]] += x[p, i], from zeros.
void plane_put(const Array& x, const Array& index, size_t dimensions, Array& out);

}  // namespace plait
