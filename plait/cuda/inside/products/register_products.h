// The kernels of products for CUDA devices.
#pragma once

namespace plait::cuda {

// matmul, ragged_dot and ragged_outer, of all numbers.
void register_product_kernels();

}  // namespace plait::cuda
