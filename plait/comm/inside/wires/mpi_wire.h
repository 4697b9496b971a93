// The wire of Open MPI, for processes that mpirun or srun has started.
#pragma once

#include <memory>

#include "plait/comm/inside/wires/wire.h"
#include "plait/comm/store.h"

namespace plait::dist {

bool has_mpi();  // in this build
// True if mpirun or srun has started the process, and the build has MPI.
bool is_started_by_mpi();

// Returns when all ranks have joined, which share the store.
std::unique_ptr<Wire> make_mpi_wire(Store& store, int rank, int size);

}  // namespace plait::dist
