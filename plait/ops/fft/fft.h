// Discrete Fourier transforms of any length, as in NumPy, along one axis (by default the last) or
// several.
//
//   X[k] = Σ x[j] e^(-2πi jk / n)
//
// If n differs from the size of the axis, the input is truncated or padded with zeros. Real input
// is converted to complex where a transform needs it. Results in f32 or c64 are rounded once, at
// the end.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait::fft {

// The direction that is divided by n; `ortho` divides both by √n.
enum class Norm : uint8_t { backward, ortho, forward };
using Length = std::optional<int64_t>;
using Lengths = std::vector<int64_t>;  // empty: the sizes of the axes; -1: the size of this axis
using AxisList = std::vector<int64_t>;

Tensor fft(const Tensor& x, Length n = {}, int64_t axis = -1, Norm norm = Norm::backward);
Tensor ifft(const Tensor& x, Length n = {}, int64_t axis = -1, Norm norm = Norm::backward);
// Transform of real input: the first n / 2 + 1 coefficients, which determine the others.
Tensor rfft(const Tensor& x, Length n = {}, int64_t axis = -1, Norm norm = Norm::backward);
// The inverse of rfft: n real numbers, by default 2 (m - 1) for m coefficients.
Tensor irfft(const Tensor& x, Length n = {}, int64_t axis = -1, Norm norm = Norm::backward);
// Transform of a Hermitian-symmetric signal, given by its first half, whose spectrum is real; and
// the inverse.
Tensor hfft(const Tensor& x, Length n = {}, int64_t axis = -1, Norm norm = Norm::backward);
Tensor ihfft(const Tensor& x, Length n = {}, int64_t axis = -1, Norm norm = Norm::backward);

// Transforms along several axes: the given ones, else the last ones, one per length, else all.
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

// Frequencies of the n results for samples `spacing` apart; rfftfreq: of the first n / 2 + 1.
Tensor fftfreq(int64_t n, double spacing = 1, DType dtype = DType::f32);
Tensor rfftfreq(int64_t n, double spacing = 1, DType dtype = DType::f32);
// Moves the frequency 0 to the middle, and back to the front, along the given axes or all.
Tensor fftshift(const Tensor& x, const AxisList& axes = {});
Tensor ifftshift(const Tensor& x, const AxisList& axes = {});

}  // namespace plait::fft

namespace plait {

void register_fft_ops();

}  // namespace plait
