// Shared by the programs beside this file: an all_reduce of f32, timed for sizes from 4 B to as
// many bytes as the last argument says. Rank 0 prints a line "bytes microseconds" for each.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

// Calls are made one after another, as nccl-tests does.
inline int calls_for(int64_t bytes) {
  return bytes <= 64 << 10 ? 2000 : bytes <= 4 << 20 ? 100 : bytes <= 64 << 20 ? 10 : 4;
}

// `reduce` takes the number of elements, all 1, and returns an element of the sum.
inline void time_all_reduce(int rank, int size, int64_t most_bytes,
                            const std::function<void()>& barrier,
                            const std::function<float(int64_t count)>& reduce) {
  for (int64_t bytes = 4; bytes <= most_bytes; bytes *= 4) {
    const int64_t count = bytes / 4;
    const int calls = calls_for(bytes);
    for (int i = 0; i < calls / 4 + 1; ++i) {
      if (reduce(count) != static_cast<float>(size)) {
        std::fprintf(stderr, "a wrong sum of %lld elements\n", static_cast<long long>(count));
        std::exit(1);
      }
    }
    barrier();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) reduce(count);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    if (rank == 0) std::printf("%lld %.3f\n", static_cast<long long>(bytes), time.count() / calls);
    barrier();
  }
}
