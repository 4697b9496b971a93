// Products of arrays on a CUDA device by cuBLASLt.
#pragma once

#include "plait/cuda/inside/device/cuda_device.h"
#include "plait/cuda/inside/products/cublaslt.h"
#include "plait/tensor/memory/array.h"

namespace plait {

// Precision of products of f32: IEEE's, or TF32 (10 bits of mantissa) on tensor cores.
enum class Float32Precision : uint8_t { highest, high };
namespace setting {
extern Setting<Float32Precision> kFloat32MatmulPrecision;
}

namespace cuda {

// True for f64, f32, f16, bf16 (the last two accumulated in f32 and rounded once), c64 and c128.
bool has_device_product(DType dtype);

// out[b…, i, j] = Σ_k a[b…, i, k] · b[b…, k, j] for any layouts; batch dimensions are broadcast.
// All three are on the device, and of one dtype that has a product. With k = 0 the sums are 0.
// `out` does not overlap the others. Operands with contiguous rows or columns are not copied. Equal
// calls give equal bits. Returns false if the library cannot multiply them: then `out` is
// undefined.
bool multiply(const CudaDevice& device, const Array& a, const Array& b, Array& out);

// `out` is on the device, and has elements.
void fill_with_zeros(const CudaDevice& device, Array& out);

}  // namespace cuda
}  // namespace plait
