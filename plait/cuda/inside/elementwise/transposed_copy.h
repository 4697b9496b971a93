// Copies in which neighbours in memory are apart in the result: by tiles through shared memory, so
// that both sides are accessed along cache lines.
#pragma once

#include <cstdint>
#include <span>

#include "plait/cuda/inside/elementwise/eager_nest.h"

namespace plait::cuda {

// Copies elements of 1, 2, 4, 8 or 16 bytes. The loops have two ports: the source, then the target,
// which has stride 1 in the last one. Returns false, and does nothing, if tiles do not help.
bool copy_transposed(CudaDevice& device, std::span<const LoopDimension> loops, int64_t element_size,
                     Address from, Address to);

}  // namespace plait::cuda
