// Sliding windows over the last one to three dimensions, and indexing within planes: primitives of
// pooling and resampling. All leading dimensions are batch dimensions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait {

struct WindowAttributes {
  std::vector<Dim> counts;  // number of windows along each of the last dimensions
  // Window i holds the elements i · stride + k · dilation − padding for k < window that are inside.
  // If all are empty, it runs from ⌊i · size / count⌋ to ⌈(i + 1) · size / count⌉, exclusive.
  std::vector<int64_t> window = {}, strides = {}, dilation = {}, padding = {};
  std::vector<Dim> sizes = {};  // spatial sizes, for window_spread only
  static constexpr std::string_view kRequired[] = {"counts"};
};

struct PlaneAttributes {
  int64_t dimensions = 1;       // number of last dimensions that form a plane
  std::vector<Dim> sizes = {};  // sizes of a plane, for plane_put only
  static constexpr std::string_view kRequired[] = {"dimensions"};
};

Tensor window_sum(const Tensor& x, const WindowAttributes& attributes);
// The maximum of each window; NaN if it contains one. An empty window gives −∞, or the least number
// of the dtype.
Tensor window_maximum(const Tensor& x, const WindowAttributes& attributes);
// The flat index in its plane (row-major) of the first maximum of each window, or of the first NaN;
// −1 for an empty window.
Tensor window_maximum_index(const Tensor& x, const WindowAttributes& attributes);

// The last `dimensions` are a plane: out[p, i] = x[p, index[p, i]], or 0 for an index of −1. Sizes
// of 1 before the plane are broadcast.
Tensor plane_take(const Tensor& x, const Tensor& index, size_t dimensions);

void register_window_ops();

}  // namespace plait
