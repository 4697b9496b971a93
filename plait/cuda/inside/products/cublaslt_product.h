// Products of arrays on a CUDA device by cuBLASLt.
#pragma once

#include <cstdint>

#include "plait/core/settings.h"
#include "plait/cuda/inside/device/cuda_device.h"
#include "plait/tensor/memory/array.h"

namespace plait {

// Precision of products and convolutions of f32: IEEE's, or TF32 (10 bits of mantissa) on tensor
// cores.
enum class Float32Precision : uint8_t { highest, high };
namespace setting {
extern Setting<Float32Precision> kFloat32MatmulPrecision;
}

namespace cuda {

// True for f64, f32, f16, bf16 (the last two accumulated in f32 and rounded once), c64 and c128.
bool cublaslt_has(DType dtype);

// As multiply in device_product.h, for these dtypes, and with k > 0; f8e4m3 gives sums in f32, f16
// and bf16 may. Operands whose rows or columns are contiguous are not copied, unless their batch
// would need many small calls. Returns false if the library does not multiply them: then `out` is
// undefined.
bool multiply_by_cublaslt(const CudaDevice& device, const Array& a, const Array& b, Array& out);

}  // namespace cuda
}  // namespace plait
