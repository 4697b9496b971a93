// Reading of rows by integer indices on the device (ops/indexing/gather.h).
#pragma once

#include "plait/tensor/kernels.h"

namespace plait::cuda {

void run_gather(KernelCall& call, const void*);

}  // namespace plait::cuda
