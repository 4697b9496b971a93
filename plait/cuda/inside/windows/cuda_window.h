// Sums and maxima over sliding windows on the device (ops/neural/window.h).
#pragma once

#include "plait/tensor/kernels.h"

namespace plait::cuda {

void run_window_sum(KernelCall& call, const void*);
void run_window_spread(KernelCall& call, const void*);
void run_window_maximum(KernelCall& call, const void*);
void run_window_maximum_index(KernelCall& call, const void*);

}  // namespace plait::cuda
