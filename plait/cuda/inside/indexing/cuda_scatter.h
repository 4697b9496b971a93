// Updates of rows by integer indices on the device (ops/indexing/scatter.h).
//
// The points are sorted (stably) by the rows that they name, so that the updates of an element are
// consecutive, and each element is updated by one thread: in the order of the points, without
// atomics. Runs of sums and extremes that reach over several tiles of points are combined tile by
// tile, then the tiles in order: a sum of floats may then be rounded otherwise than on the CPU, and
// is the same each time.
#pragma once

#include "plait/tensor/kernels.h"

namespace plait::cuda {

// Registers scatter_set, scatter_add, scatter_multiply, scatter_minimum and scatter_maximum.
void register_scatter_kernels();

}  // namespace plait::cuda
