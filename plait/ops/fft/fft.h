// Fourier transforms of any length, as NumPy's: along an axis (the last one), or along several.
//
//   X[k] = Σ x[j] e^(-2πi jk / n)
//
// A length n other than the axis's cuts off, or adds zeros. Real numbers become complex ones where
// a transform wants those; what is computed in f32 or c64 is rounded to that at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait::fft {

// Which of the two directions is divided by n; `ortho` divides both by its root.
enum class Norm : uint8_t { backward, ortho, forward };
using Length = std::optional<int64_t>;
using Lengths = std::vector<int64_t>;  // none: those of the axes; -1: that of this axis
using AxisList = std::vector<int64_t>;

Tensor fft(const Tensor& x, Length n = {}, int64_t axis = -1, Norm norm = Norm::backward);
Tensor ifft(const Tensor& x, Length n = {}, int64_t axis = -1, Norm norm = Norm::backward);
// Of real numbers: the first n / 2 + 1, which say what the others are.
Tensor rfft(const Tensor& x, Length n = {}, int64_t axis = -1, Norm norm = Norm::backward);
// From those back to n real numbers; as many as 2 (m - 1) from m unless told.
Tensor irfft(const Tensor& x, Length n = {}, int64_t axis = -1, Norm norm = Norm::backward);
// Of a signal whose spectrum is real, of which the first half is given.
Tensor hfft(const Tensor& x, Length n = {}, int64_t axis = -1, Norm norm = Norm::backward);
Tensor ihfft(const Tensor& x, Length n = {}, int64_t axis = -1, Norm norm = Norm::backward);

// Along several axes: all of them, the last so many as there are lengths, or those named.
Tensor fftn(const Tensor& x, const Lengths& lengths = {}, const AxisList& axes = {},
            Norm norm = Norm::backward);
Tensor ifftn(const Tensor& x, const Lengths& lengths = {}, const AxisList& axes = {},
             Norm norm = Norm::backward);
Tensor rfftn(const Tensor& x, const Lengths& lengths = {}, const AxisList& axes = {},
             Norm norm = Norm::backward);
Tensor irfftn(const Tensor& x, const Lengths& lengths = {}, const AxisList& axes = {},
              Norm norm = Norm::backward);
Tensor fft2(const Tensor& x, const Lengths& lengths = {}, const AxisList& axes = {-2, -1},
            Norm norm = Norm::backward);
Tensor ifft2(const Tensor& x, const Lengths& lengths = {}, const AxisList& axes = {-2, -1},
             Norm norm = Norm::backward);
Tensor rfft2(const Tensor& x, const Lengths& lengths = {}, const AxisList& axes = {-2, -1},
             Norm norm = Norm::backward);
Tensor irfft2(const Tensor& x, const Lengths& lengths = {}, const AxisList& axes = {-2, -1},
              Norm norm = Norm::backward);

// The frequencies of the n results, for samples `spacing` apart; of the first n / 2 + 1.
Tensor fftfreq(int64_t n, double spacing = 1, DType dtype = DType::f32);
Tensor rfftfreq(int64_t n, double spacing = 1, DType dtype = DType::f32);
// The frequency 0 to the middle; back to the front. Along all axes, or those named.
Tensor fftshift(const Tensor& x, const AxisList& axes = {});
Tensor ifftshift(const Tensor& x, const AxisList& axes = {});

}  // namespace plait::fft

namespace plait {

void register_fft_ops();

}  // namespace plait
