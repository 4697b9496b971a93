// Windows that slide over the last one to three dimensions, and elements of planes picked by their
// place: what pooling and resampling are made of. All dimensions before are planes for themselves.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait {

struct WindowAttributes {
  std::vector<Dim> counts;  // of windows along each of the last dimensions
  // Window i holds i · stride + k · dilation − padding, for k < window, as far as that is inside.
  // All empty: it reaches from ⌊i · size / count⌋ until before ⌈(i + 1) · size / count⌉.
  std::vector<int64_t> window = {}, strides = {}, dilation = {}, padding = {};
  std::vector<Dim> sizes = {};  // of the space, of window_spread alone
  static constexpr std::string_view kRequired[] = {"counts"};
};

struct PlaneAttributes {
  int64_t dimensions = 1;       // the last ones, which are a plane
  std::vector<Dim> sizes = {};  // of a plane, of plane_put alone
  static constexpr std::string_view kRequired[] = {"dimensions"};
};

Tensor window_sum(const Tensor& x, const WindowAttributes& attributes);
// The greatest of each window, or NaN where there is one; the least number of the dtype, or -∞, of
// a window that holds nothing.
Tensor window_maximum(const Tensor& x, const WindowAttributes& attributes);
// Where in its plane, in row-major order, the first of the greatest elements of each window lies,
// and of NaN where there is one; −1 for a window that holds nothing.
Tensor window_maximum_index(const Tensor& x, const WindowAttributes& attributes);

// The last `dimensions` are a plane: out[p, i] = x[p, index[p, i]], or 0 for an index of −1. Sizes
// of 1 before the plane stretch.
Tensor plane_take(const Tensor& x, const Tensor& index, size_t dimensions);

void register_window_ops();

}  // namespace plait
