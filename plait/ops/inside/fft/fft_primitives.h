// The primitives of Fourier transforms. Internal to ops and the backends.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "plait/core/sizes/dim.h"
#include "plait/ir/primitive.h"
#include "plait/tensor/kernels.h"

namespace plait {

// Divisor of the sum: 1, the square root of the length, or the length.
enum class FftScale : uint8_t { none, root, length };
std::span<const std::string_view> enumerator_names(FftScale);
// 1 over the divisor.
double factor_of(FftScale scale, int64_t length);

struct FftAttributes {
  int64_t axis = 0;
  bool inverse = false;  // e^(+2πi jk / n)
  FftScale scale = FftScale::none;
  static constexpr std::string_view kRequired[] = {"axis"};
};
struct RfftAttributes {
  int64_t axis = 0;
  FftScale scale = FftScale::none;
  static constexpr std::string_view kRequired[] = {"axis"};
};
struct IrfftAttributes {
  int64_t axis = 0;
  Dim size = 0;  // length of the real signal
  FftScale scale = FftScale::none;
  static constexpr std::string_view kRequired[] = {"axis", "size"};
};

struct FftPrimitives {
  const ir::Primitive& fft;
  const ir::Primitive& rfft;
  const ir::Primitive& irfft;
};
const FftPrimitives& fft_primitives();

// For kernels: a ValueError unless the length is positive, since the type rule checks only concrete
// ones.
void expect_length(const KernelCall& call, int64_t length);

}  // namespace plait
