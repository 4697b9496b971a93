// The kernels of products for CUDA devices.
#pragma once

namespace plait::cuda {

// matmul, ragged_dot and ragged_outer. Dtypes that cuBLASLt does not multiply stay with the host.
void register_product_kernels();

}  // namespace plait::cuda
