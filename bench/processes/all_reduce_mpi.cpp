// all_reduce_mpi BYTES, started by mpirun: Open MPI alone.
#include <mpi.h>

#include "bench/processes/all_reduce.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int64_t bytes = std::atoll(argv[1]);
  const std::vector<float> x(static_cast<size_t>(bytes / 4), 1.f);
  std::vector<float> sum(x.size());
  time_all_reduce(
      rank, size, bytes, [] { MPI_Barrier(MPI_COMM_WORLD); },
      [&](int64_t count) {
        MPI_Allreduce(x.data(), sum.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                      MPI_COMM_WORLD);
        return sum[static_cast<size_t>(count - 1)];
      });
  MPI_Finalize();
}
