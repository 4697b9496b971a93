// argmax and argmin on the device.
#pragma once

#include <string>

#include "plait/tensor/kernels.h"

namespace plait::cuda {

// The text of the kernels arg_extreme and join_extremes; 1, 32 or 256 threads for a row.
std::string arg_extreme_text(DType dtype, bool greatest, int team);

void run_argmax(KernelCall& call, const void*);
void run_argmin(KernelCall& call, const void*);

}  // namespace plait::cuda
