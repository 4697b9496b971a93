// Fourier transforms on the CPU: kernels of the primitives in ops/inside/fft/fft_primitives.h.
#pragma once

#include "plait/tensor/kernels.h"

namespace plait {

void run_fft(KernelCall& call, const void*);
void run_rfft(KernelCall& call, const void*);
void run_irfft(KernelCall& call, const void*);

}  // namespace plait
