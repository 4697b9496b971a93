// Convolutions on the device, and their two transposes (ops/neural/convolution.h).
#pragma once

#include "plait/tensor/kernels.h"

namespace plait::cuda {

void run_convolution(KernelCall& call, const void*);
void run_convolution_input_gradient(KernelCall& call, const void*);
void run_convolution_weight_gradient(KernelCall& call, const void*);

}  // namespace plait::cuda
