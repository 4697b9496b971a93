// Linear recurrences on lattices on the device (ops/inside/lattice.h), which sum over the paths of
// an alignment.
#pragma once

namespace plait::cuda {

// Registers lattice_recurrence and lattice_logsumexp. They are computed in f64, in the CPU's order.
void register_lattice_kernels();

}  // namespace plait::cuda
