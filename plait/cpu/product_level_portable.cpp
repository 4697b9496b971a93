// Processors that have one set of kernels.
#include "plait/cpu/product_kernels.h"
#include "plait/cpu/tile_kernels.h"

namespace plait {

const ProductKernels& product_kernels() { return kProductKernels; }
const TileKernels* tile_kernels() { return nullptr; }

}  // namespace plait
