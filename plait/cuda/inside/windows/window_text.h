// The texts of the kernels of cuda_window.h.
#pragma once

#include <cstdint>
#include <string>

#include "plait/core/numbers/dtype.h"

namespace plait::cuda {

inline constexpr int kMostOuter = 4;  // leading dimensions, after adjacent ones were joined

// As the kernels get them. `space` of the dimensions are in use, the last ones.
struct WindowAxis {
  int64_t size = 1, count = 1, window = 1, stride = 1, dilation = 1, padding = 0;
  int64_t period = 1;  // between two windows that may hold the same element
  int64_t step = 0;    // between neighbours in the operand
};
struct WindowPlaces {
  int64_t outer_sizes[kMostOuter] = {1, 1, 1, 1};
  int64_t outer_steps[kMostOuter] = {};
  WindowAxis axes[3];
};

struct WindowForm {
  DType dtype = DType::f32;
  int space = 1, outer = 0;  // numbers of dimensions
  bool is_even = false;      // as WindowDimension
  bool is_narrow = false;    // 32 bits hold all places
};

// Kernels window_sum and window_spread.
std::string window_sum_text(const WindowForm& form);
// Kernels window_maximum and window_maximum_index.
std::string window_maximum_text(const WindowForm& form);

}  // namespace plait::cuda
