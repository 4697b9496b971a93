// Processors that have one set of kernels.
#include "plait/cpu/product_kernels.h"

namespace plait {

const ProductKernels& product_kernels() { return kProductKernels; }

}  // namespace plait
