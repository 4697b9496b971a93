#ifdef PLAIT_HAVE_MPI

#include "plait/comm/inside/wires/mpi_library.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <thread>

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include "plait/core/error.h"

namespace plait::dist {
namespace {

constexpr const char* kFile = "libmpi.so.40";

constexpr std::chrono::seconds kLongestEnd{3};

std::atomic<bool> has_failed = false;
std::atomic<void (*)()> end_first = nullptr;
pid_t initialised_by = -1;

void* loaded() {
  // Its plugins find its symbols among the global ones.
  void* const opened = dlopen(kFile, RTLD_NOW | RTLD_GLOBAL);
  if (opened != nullptr) return opened;
  throw DistError("the engine mpi: {} cannot be loaded: {}", kFile, dlerror())
      .hint("apt install libopenmpi3");
}

template <class Symbol>
void find(void* library, const char* name, Symbol& symbol) {
  symbol = reinterpret_cast<Symbol>(dlsym(library, name));
  if (symbol == nullptr) throw DistError("the engine mpi: {} lacks {}", kFile, name);
}

MpiLibrary symbols() {
  void* const library = loaded();
  MpiLibrary found{};
  find(library, "MPI_Initialized", found.initialized);
  find(library, "MPI_Init_thread", found.init_thread);
  find(library, "MPI_Query_thread", found.query_thread);
  find(library, "MPI_Finalize", found.finalize);
  find(library, "MPI_Comm_rank", found.comm_rank);
  find(library, "MPI_Comm_size", found.comm_size);
  find(library, "MPI_Comm_set_errhandler", found.comm_set_errhandler);
  find(library, "MPI_Error_string", found.error_string);
  find(library, "MPI_Isend", found.isend);
  find(library, "MPI_Issend", found.issend);
  find(library, "MPI_Irecv", found.irecv);
  find(library, "MPI_Test", found.test);
  find(library, "MPI_Cancel", found.cancel);
  find(library, "MPI_Type_contiguous", found.type_contiguous);
  find(library, "MPI_Type_create_struct", found.type_create_struct);
  find(library, "MPI_Type_commit", found.type_commit);
  find(library, "MPI_Type_free", found.type_free);
  find(library, "ompi_mpi_comm_world", found.world);
  find(library, "ompi_mpi_byte", found.byte);
  find(library, "ompi_mpi_errors_return", found.errors_return);
  return found;
}

const MpiLibrary& library() {
  static const MpiLibrary found = symbols();
  return found;
}

void finalise() {
  if (::getpid() != initialised_by) return;
  if (auto* const end = end_first.load()) end();
  if (!has_failed.load()) {
    library().finalize();
    return;
  }
  // Other ranks may not be there to do the same.
  auto finalised = std::make_shared<std::promise<void>>();
  std::thread([finalised] {
    library().finalize();
    finalised->set_value();
  }).detach();
  finalised->get_future().wait_for(kLongestEnd);
}

void initialise(const MpiLibrary& mpi) {
  int is_initialised = 0, level = 0;
  mpi.initialized(&is_initialised);
  if (is_initialised == 0) {
    // Else it waits for all processes of the job, without an end.
    ::setenv("OMPI_MCA_async_mpi_init", "1", 0);
    if (mpi.init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS) {
      throw DistError("the engine mpi: MPI_Init_thread failed");
    }
    initialised_by = ::getpid();
    std::atexit(finalise);
  } else {
    mpi.query_thread(&level);
  }
  if (level < MPI_THREAD_MULTIPLE) {
    throw DistError("the engine mpi: MPI was initialised for fewer threads")
        .hint("initialise it with MPI_THREAD_MULTIPLE, or leave that to Plait");
  }
  mpi.comm_set_errhandler(mpi.world, mpi.errors_return);
}

}  // namespace

const MpiLibrary& MpiLibrary::get() {
  static const MpiLibrary& initialised = []() -> const MpiLibrary& {
    initialise(library());
    return library();
  }();
  return initialised;
}

void note_failure_of_mpi() { has_failed = true; }

void end_before_finalising(void (*end)()) { end_first = end; }

}  // namespace plait::dist

#endif
