// The distinct elements of a vector, on the device. Their number is waited for.
#pragma once

#include <string>

#include "plait/tensor/kernels.h"

namespace plait::cuda {

void run_unique(KernelCall& call, const void*);

std::string unique_text(DType dtype, bool equal_nan);

}  // namespace plait::cuda
