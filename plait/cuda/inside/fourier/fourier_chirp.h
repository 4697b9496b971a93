// Tables for transforms of lengths with a large prime factor.
#pragma once

#include <cstdint>
#include <memory>

#include "plait/cuda/inside/device/cuda_device.h"
#include "plait/tensor/memory/array.h"

namespace plait::cuda {

// Bluestein's algorithm: jk = (j² + k² - (k - j)²) / 2, so with w[k] = e^(-πi k² / n) the transform
// is a convolution, X[k] = w[k] Σ (x[j] w[j]) / w[k - j], which transforms of the length `padded`
// compute.
struct Chirp {
  int64_t padded = 1;
  Array turns;   // w
  Array filter;  // the transform of 1 / w, divided by `padded`
};

// Kept for some lengths.
std::shared_ptr<const Chirp> fourier_chirp(CudaDevice& device, DType dtype, int64_t length);

}  // namespace plait::cuda
