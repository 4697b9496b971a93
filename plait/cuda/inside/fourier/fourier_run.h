// Fourier transforms of any length.
#pragma once

#include <cstdint>

#include "plait/cuda/inside/fourier/fourier_passes.h"

namespace plait::cuda {

// The transform of rows of any length, in c64 or c128. The output may not be the input.
void transform_rows(CudaDevice& device, DType dtype, int64_t length, const FourierRows& rows,
                    Address from, Address to);

}  // namespace plait::cuda
