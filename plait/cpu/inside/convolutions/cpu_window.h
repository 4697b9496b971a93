// Sums and maxima over windows that slide over the last one to three dimensions, and indexing
// within these dimensions (planes). All leading dimensions are batch dimensions.
#pragma once

#include <span>

#include "plait/ops/inside/neural/window_dimensions.h"
#include "plait/tensor/memory/array.h"

namespace plait {

// All arrays of a call have the same leading dimensions. `out` is newly allocated and contiguous.
void window_sum(const Array& x, std::span<const WindowDimension> dimensions, Array& out);
// The transpose: out[p] = the sum over the windows that hold p.
void window_spread(const Array& x, std::span<const WindowDimension> dimensions, Array& out);
// The maximum of each window; NaN if it contains one. An empty window gives −∞, or the least number
// of the dtype.
void window_maximum(const Array& x, std::span<const WindowDimension> dimensions, Array& out);
// The flat index in its plane (row-major) of the first maximum of each window, or of the first NaN;
// −1 for an empty window. `out` is i64.
void window_maximum_index(const Array& x, std::span<const WindowDimension> dimensions, Array& out);

// The last `dimensions` are a plane: out[p, i] = x[p, index[p, i]], or 0 for an index of −1. Throws
// IndexError for an index outside of the plane.
void plane_take(const Array& x, const Array& index, size_t dimensions, Array& out);
// The transpose: starts with zeros, then out[p, index[p, i]] += x[p, i].
void plane_put(const Array& x, const Array& index, size_t dimensions, Array& out);

}  // namespace plait
