// Products of arrays on a CUDA device by a kernel of Plait: of integers and floats of 8 bits, and
// of all that cuBLASLt declines.
#pragma once

#include <string>

#include "plait/cuda/inside/device/cuda_device.h"
#include "plait/tensor/memory/array.h"

namespace plait::cuda {

// As multiply in device_product.h, with k > 0. No layout is copied.
void multiply_by_tiles(CudaDevice& device, const Array& a, const Array& b, Array& out);

// The text of the kernel: each of 256 threads computes `each` × `each` elements of the result,
// whose dtype is that of the operands or of their sums.
std::string tiled_product_text(DType dtype, DType result, int each);
inline constexpr const char* kTiledProduct = "tiled_product";
inline constexpr int kSmallTiles = 1, kLargeTiles = 4;

}  // namespace plait::cuda
