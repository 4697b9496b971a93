// Fourier transforms on the device: kernels of the primitives in ops/inside/fft/fft_primitives.h.
#pragma once

namespace plait::cuda {

void register_fft_kernels();

}  // namespace plait::cuda
