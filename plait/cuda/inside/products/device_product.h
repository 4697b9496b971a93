// Products of arrays on a CUDA device.
#pragma once

#include "plait/cuda/inside/device/cuda_device.h"
#include "plait/tensor/memory/array.h"

namespace plait::cuda {

// out[b…, i, j] = Σ_k a[b…, i, k] · b[b…, k, j] for any layouts; batch dimensions are broadcast.
// All three are on the device, and of one dtype of numbers; for f16 and bf16 the result may
// also be f32, the sums as they are. With k = 0 the sums are 0.
// `out` does not overlap the others. Integers wrap; narrow floats are accumulated in f32 and
// rounded once. Equal calls give equal bits.
void multiply(CudaDevice& device, const Array& a, const Array& b, Array& out);

// `out` is on the device.
void fill_with_zeros(const CudaDevice& device, Array& out);

}  // namespace plait::cuda
