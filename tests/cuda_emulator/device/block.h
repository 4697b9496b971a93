// A block of threads that runs: its threads are fibers of one host thread, which switch at barriers
// and exchanges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/cuda_emulator/abi/cuda.h"
#include "tests/cuda_emulator/abi/kernel.h"
#include "tests/cuda_emulator/device/memory.h"

namespace emulator {

constexpr int kMostThreads = 1024;
constexpr int kWarpSize = 32;
constexpr size_t kMostShared = 227 * 1024;        // bytes a block, if asked for
constexpr size_t kMostSharedUnasked = 48 * 1024;  // bytes a block, otherwise

struct Sizes {
  unsigned x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
};

// A kernel that is about to run, or runs.
struct KernelRun {
  const EmulatedKernel* kernel = nullptr;
  void** parameters = nullptr;
  Sizes grid, block;
  size_t dynamic_shared = 0;
  int device = 0;
  std::string image;  // the file of its module, for source lines
  const char* image_begin = nullptr;
  const char* image_end = nullptr;
};

// The block that runs. One kernel runs at a time in the process, so that hooks find it without a
// search.
struct RunningBlock {
  const KernelRun* run = nullptr;
  bool checks = false;
  DeviceMemory* memory = nullptr;
  uint64_t access_begin = 0;
  size_t access_space = 0;
  const char* stacks = nullptr;
  size_t stacks_bytes = 0;
  int thread = 0, threads = 0;
  Sizes index;  // place in the grid
  unsigned long long packed_thread = 0, packed_block = 0;
  Clock clock;
  CUresult result = CUDA_SUCCESS;  // result for the launch
  bool is_stopped = false;         // the kernel runs no further
};

extern RunningBlock running;

// Runs a block to its end, or to the finding that stops the kernel.
void run_block();

// For threads of the block that runs.
int wait_at_barrier(int vote, int predicate);  // vote: 0 none, 1 count, 2 and, 3 or
[[noreturn]] void stop_kernel();

// The exchanges of a warp; see abi/kernel.h.
void warp_barrier(unsigned mask);
unsigned long long shuffle(unsigned mask, unsigned long long value, int mode, int operand,
                           int width);
unsigned vote(unsigned mask, int predicate);

unsigned long long packed(unsigned x, unsigned y, unsigned z);
std::string thread_text(int thread);  // "thread 5 of block (1, 0, 0)"

}  // namespace emulator
