// Products of f8e4m3 on a CUDA device by the tensor cores.
#pragma once

#include "plait/cuda/inside/device/cuda_device.h"
#include "plait/tensor/memory/array.h"

namespace plait::cuda {

// As multiply in device_product.h, for f8e4m3 and k > 0: cuBLASLt's sums in f32, then rounded as
// Plait rounds (cuBLASLt would saturate). Returns false for what cuBLASLt does not take: the
// elements along k must be contiguous in both operands, and k, the columns, strides and addresses
// multiples of 16; the device must be of compute capability 8.9 or newer.
bool multiply_f8(CudaDevice& device, const Array& a, const Array& b, Array& out);

// The text of the kernel that rounds the sums.
extern const char* const kRoundSumsText;
inline constexpr const char* kRoundSums = "round_sums";

}  // namespace plait::cuda
