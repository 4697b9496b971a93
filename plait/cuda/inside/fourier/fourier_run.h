// Runs the passes of Fourier transforms.
#pragma once

#include <cstdint>

#include "plait/cuda/inside/device/cuda_device.h"
#include "plait/cuda/inside/device/device_address.h"
#include "plait/cuda/inside/fourier/fourier_text.h"

namespace plait::cuda {

// Rows in memory: `outer` times `inner` of them, whose elements are `inner` apart.
struct FourierRows {
  int64_t outer = 1, inner = 1;
  int64_t in_length = 1, out_length = 1;  // elements of a row
  FourierInput input = FourierInput::complex;
  FourierOutput output = FourierOutput::complex;
  bool inverse = false;
  double factor = 1;
};

// The transform of rows of any length, in c64 or c128. The output may not be the input.
void transform_rows(CudaDevice& device, DType dtype, int64_t length, const FourierRows& rows,
                    Address from, Address to);

}  // namespace plait::cuda
