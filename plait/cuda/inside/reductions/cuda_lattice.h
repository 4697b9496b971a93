// Linear recurrences on lattices on the device (ops/inside/lattice.h), which sum over the paths of
// an alignment.
#pragma once

#include <string>

#include "plait/core/numbers/dtype.h"

namespace plait::cuda {

// Registers lattice_recurrence and lattice_logsumexp. They are computed in f64, in the CPU's order.
void register_lattice_kernels();

// Kernel walk.
std::string lattice_text(bool is_logarithmic, DType dtype);

}  // namespace plait::cuda
