// Passes and tables of Fourier transforms of one length.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plait/core/hash.h"
#include "plait/cuda/inside/device/cuda_device.h"
#include "plait/tensor/memory/array.h"

namespace plait::cuda {

// e^(-2πi k / n) for 0 ≤ k < n, of which each part is off by less than two ulp.
std::complex<double> turn_of(int64_t k, int64_t n);

// On the device; not initialised.
Array numbers_on(const CudaDevice& device, DType dtype, int64_t count);
// Rounded to c64, or in c128.
Array uploaded(std::span<const std::complex<double>> numbers, DType dtype,
               const CudaDevice& device);

// Identifies what is kept for a device, a dtype and a length.
struct FourierKey {
  int device;
  DType dtype;
  int64_t length;
  friend bool operator==(const FourierKey&, const FourierKey&) = default;
};
struct HashOfFourierKey {
  size_t operator()(const FourierKey& key) const {
    const auto kind = static_cast<uint64_t>(key.device) << 8 | static_cast<uint64_t>(key.dtype);
    return hash_combine(kind, static_cast<uint64_t>(key.length));
  }
};

// The size that a block transforms in a pass (FourierPass).
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

// True if the length has no prime factor above kMostRadix; the other lengths need a chirp
// (fourier_chirp.h).
bool has_plan(int64_t length);

// Kept for some lengths. `dtype` is c64 or c128.
std::shared_ptr<const FourierPlan> fourier_plan(const CudaDevice& device, DType dtype,
                                                int64_t length);

}  // namespace plait::cuda
