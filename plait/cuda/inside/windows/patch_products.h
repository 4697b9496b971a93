// Convolutions as products of matrices: patches of x are columns (cuda_patches.h), or x itself for
// kernels of one element.
#pragma once

#include "plait/cuda/inside/windows/cuda_patches.h"

namespace plait::cuda {

// Each writes its result: out, x or w. Nothing is empty. How sums are cut depends on sizes and
// `most_bytes` only.
void convolve_by_products(const DeviceConvolution& c, int64_t most_bytes = kColumnBytes);
void find_input_gradient_by_products(const DeviceConvolution& c, int64_t most_bytes = kColumnBytes);
void find_weight_gradient_by_products(const DeviceConvolution& c,
                                      int64_t most_bytes = kColumnBytes);

}  // namespace plait::cuda
