// The windows of a call of a primitive of ops/neural/window.h, for kernels of all devices.
#pragma once

#include <cstdint>
#include <vector>

#include "plait/ops/neural/window.h"
#include "plait/tensor/kernels.h"

namespace plait {

// The windows along one dimension.
struct WindowDimension {
  int64_t size = 1;   // size of the input
  int64_t count = 1;  // count of windows
  // Window i holds the elements i · stride + k · dilation − padding for k < window that are inside.
  int64_t window = 1, stride = 1, dilation = 1, padding = 0;
  // If set, window i runs from ⌊i · size / count⌋ to ⌈(i + 1) · size / count⌉, exclusive.
  bool is_even = false;
};

// `space` holds the sizes that the windows slide over.
std::vector<WindowDimension> windows_of(const WindowAttributes& attributes, const Sizes& space);

// ShapeError unless the operand of window_spread has as many windows as the attributes say: the
// type rule checks only concrete sizes.
void expect_windows(const KernelCall& call, const WindowAttributes& attributes);

}  // namespace plait
