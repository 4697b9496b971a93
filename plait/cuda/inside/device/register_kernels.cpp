#include "plait/cuda/inside/device/register_kernels.h"

#include "plait/cuda/inside/products/register_products.h"

namespace plait::cuda {

void register_kernels() { register_product_kernels(); }

}  // namespace plait::cuda
