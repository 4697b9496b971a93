// Passes and tables of Fourier transforms of one length.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "plait/cuda/inside/device/cuda_device.h"
#include "plait/tensor/memory/array.h"

namespace plait::cuda {

// e^(-2πi k / n) for 0 ≤ k < n, of which each part is off by an ulp at most.
std::complex<double> turn_of(int64_t k, int64_t n);

// On the device; not initialised.
Array numbers_on(const CudaDevice& device, DType dtype, int64_t count);

// What a block transforms in a pass (FourierPass).
struct FourierStage {
  int32_t size = 1;
  std::vector<int32_t> radices;
  Array roots;
};

struct FourierPlan {
  int64_t length = 1;
  std::vector<FourierStage> stages;
  Array fine, coarse;  // if there are several stages
  int32_t shift = 0;
};

// Bluestein's algorithm: jk = (j² + k² - (k - j)²) / 2, so with w[k] = e^(-πi k² / n) the transform
// is a convolution, X[k] = w[k] Σ (x[j] w[j]) / w[k - j], which transforms of the length `padded`
// compute.
struct Chirp {
  int64_t padded = 1;
  Array turns;   // w
  Array filter;  // the transform of 1 / w, divided by `padded`
};

// True if the length has no prime factor above kMostRadix; the other lengths need a chirp.
bool has_plan(int64_t length);

// Kept for some lengths. `dtype` is c64 or c128.
std::shared_ptr<const FourierPlan> fourier_plan(const CudaDevice& device, DType dtype,
                                                int64_t length);
std::shared_ptr<const Chirp> fourier_chirp(CudaDevice& device, DType dtype, int64_t length);

}  // namespace plait::cuda
