// Open MPI, which is loaded and initialised when it is first asked for. For sources that have
// mpi.h.
#pragma once

#include <mpi.h>

namespace plait::dist {

struct MpiLibrary {
  decltype(&::MPI_Initialized) initialized;
  decltype(&::MPI_Init_thread) init_thread;
  decltype(&::MPI_Query_thread) query_thread;
  decltype(&::MPI_Finalize) finalize;
  decltype(&::MPI_Comm_rank) comm_rank;
  decltype(&::MPI_Comm_size) comm_size;
  decltype(&::MPI_Comm_set_errhandler) comm_set_errhandler;
  decltype(&::MPI_Error_string) error_string;
  decltype(&::MPI_Isend) isend, issend;
  decltype(&::MPI_Irecv) irecv;
  decltype(&::MPI_Test) test;
  decltype(&::MPI_Cancel) cancel;
  decltype(&::MPI_Type_contiguous) type_contiguous;
  decltype(&::MPI_Type_create_struct) type_create_struct;
  decltype(&::MPI_Type_commit) type_commit;
  decltype(&::MPI_Type_free) type_free;
  MPI_Comm world;
  MPI_Datatype byte;
  MPI_Errhandler errors_return;

  // DistError if it cannot be loaded, or was initialised without threads.
  static const MpiLibrary& get();
};

// Other ranks may have ended: this process does not wait for them for long when it ends itself.
void note_failure_of_mpi();
// Calls this before MPI_Finalize, which no thread may use MPI after.
void end_before_finalising(void (*end)());

}  // namespace plait::dist
