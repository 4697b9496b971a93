// Operations that only make views and copies.
#pragma once

#include "plait/tensor/kernels.h"

namespace plait::cuda {

// Runs the CPU's kernel of the primitive on arrays of the device: for kernels that never ask for
// bytes.
void run_by_views(KernelCall& call, const void*);

}  // namespace plait::cuda
