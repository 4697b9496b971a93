// Passes over the rows of an array.
#pragma once

#include <cstdint>

#include "plait/cuda/inside/device/cuda_device.h"
#include "plait/cuda/inside/device/device_address.h"
#include "plait/cuda/inside/fourier/fourier_plan.h"
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

// The ends of a transform: what its first pass reads and its last one writes.
struct FourierEnds {
  FourierRows rows;
  int64_t period = 1;  // length of the rows of the whole call
  int64_t valid = 1;   // elements that are read
  Address in_chirp = 0, filter = 0, out_chirp = 0;
  bool in_swapped = false, middle_swapped = false, out_swapped = false;
};

// Transforms rows of the plan's length, in c64 or c128. The output may not be the input.
void run_passes(CudaDevice& device, DType dtype, const FourierPlan& plan, const FourierEnds& ends,
                Address from, Address to);

}  // namespace plait::cuda
