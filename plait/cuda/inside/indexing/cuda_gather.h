// Reading of rows by integer indices on the device (ops/indexing/gather.h).
#pragma once

#include <string>

#include "plait/cuda/inside/indexing/points_text.h"
#include "plait/tensor/kernels.h"

namespace plait::cuda {

void run_gather(KernelCall& call, const void*);

// Words of so many bytes are copied; points_text.h has the rest.
std::string gather_text(const Points& points, const Row& row, int64_t word, bool narrow);

}  // namespace plait::cuda
