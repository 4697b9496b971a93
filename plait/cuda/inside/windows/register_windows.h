// The kernels of windows and convolutions for CUDA devices.
#pragma once

namespace plait::cuda {

// Sums and maxima over windows, and convolutions with their transposes, of all their dtypes.
void register_window_kernels();

}  // namespace plait::cuda
