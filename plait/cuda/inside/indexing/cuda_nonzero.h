// The indices of nonzero elements, on the device. Their number is waited for.
#pragma once

#include <string>

#include "plait/tensor/kernels.h"

namespace plait::cuda {

void run_nonzero(KernelCall& call, const void*);

std::string nonzero_text(DType dtype);

}  // namespace plait::cuda
