#include "tests/cuda_emulator/device/block.h"

#include <algorithm>
#include <cstdio>

#include "tests/cuda_emulator/device/checks.h"
#include "tests/cuda_emulator/device/fibers.h"
#include "tests/cuda_emulator/device/findings.h"

namespace emulator {

RunningBlock running;

namespace {

int at_barrier = 0, ended = 0;

void thread_body() {
  running.run->kernel->call(running.run->parameters);
  Fibers& fibers = Fibers::all();
  fibers.fibers[running.thread].state = FiberState::ended;
  fibers.warps[running.thread / kWarpSize].running &= ~(1u << (running.thread % kWarpSize));
  ++ended;
  complete_warp_without(running.thread);
  fibers.pause(running.thread);
  __builtin_unreachable();
}

void resume(int thread) {
  Fibers& fibers = Fibers::all();
  running.thread = thread;
  running.packed_thread = fibers.fibers[thread].index;
  fibers.resume(thread);
}

void start_threads() {
  Fibers& fibers = Fibers::all();
  const Sizes& size = running.run->block;
  for (WarpLanes& lanes : fibers.warps) lanes = {};
  int thread = 0;
  for (unsigned z = 0; z < size.z; ++z) {
    for (unsigned y = 0; y < size.y; ++y) {
      for (unsigned x = 0; x < size.x; ++x, ++thread) {
        fibers.start(thread, thread_body);
        fibers.fibers[thread].index = packed(x, y, z);
        fibers.warps[thread / kWarpSize].running |= 1u << (thread % kWarpSize);
      }
    }
  }
}

// Runs the threads of a warp until each of them waits or has ended; true if one ran.
bool run_warp(int first, int lanes, const int* order) {
  Fibers& fibers = Fibers::all();
  bool any = false;
  for (bool again = true; again;) {
    again = false;
    for (int k = 0; k < kWarpSize; ++k) {
      const int lane = order[k];
      if (lane >= lanes || fibers.fibers[first + lane].state != FiberState::ready) continue;
      resume(first + lane);
      if (running.is_stopped) return false;
      any = again = true;
    }
  }
  return any;
}

std::string waiting_text() {
  const Fibers& fibers = Fibers::all();
  for (int t = 0; t < running.threads; ++t) {
    const Fiber& fiber = fibers.fibers[t];
    if (fiber.state != FiberState::in_warp) continue;
    char mask[16];
    std::snprintf(mask, sizeof mask, "0x%08x", fiber.operation.mask);
    return thread_text(t) + " waits in an exchange of its warp with mask " + mask +
           ", which not all threads of the mask reach (" + std::to_string(at_barrier) +
           " threads are at a barrier, " + std::to_string(ended) + " have ended)";
  }
  return "barrier not reached by all threads: " + std::to_string(at_barrier) + " of " +
         std::to_string(running.threads) + " wait in block " + thread_text(-1) + ", " +
         std::to_string(ended) + " have ended";
}

void start_block() {
  Fibers& fibers = Fibers::all();
  running.is_stopped = false;
  at_barrier = ended = 0;
  Clock& clock = running.clock;
  clock.block_start = clock.barrier = ++clock.now;
  running.stacks = fibers.stacks;
  running.stacks_bytes = kStackBytes * kMostThreads;
  running.packed_block = packed(running.index.x, running.index.y, running.index.z);
  start_threads();
  clear_shared();
}

void release_barrier() {
  Fibers& fibers = Fibers::all();
  running.clock.barrier = ++running.clock.now;
  at_barrier = 0;
  for (int t = 0; t < running.threads; ++t) fibers.fibers[t].state = FiberState::ready;
}

}  // namespace

void run_block() {
  start_block();
  const int warps = (running.threads + kWarpSize - 1) / kWarpSize;
  int warp_order[kMostThreads / kWarpSize], lane_order[kWarpSize];
  const uint64_t salt = running.packed_block * 2;
  choose_order(warp_order, warps, salt);
  choose_order(lane_order, kWarpSize, salt + 1);
  while (ended < running.threads) {
    bool any = false;
    for (int k = 0; k < warps; ++k) {
      const int first = warp_order[k] * kWarpSize;
      any |= run_warp(first, std::min(kWarpSize, running.threads - first), lane_order);
      if (running.is_stopped) return;
    }
    if (!any && ended < running.threads) {
      report("stuck", waiting_text(), nullptr, CUDA_ERROR_LAUNCH_FAILED);
      running.is_stopped = true;
      return;
    }
  }
}

int wait_at_barrier(int vote, int predicate) {
  Fibers& fibers = Fibers::all();
  const int thread = running.thread;
  fibers.fibers[thread].predicate = predicate != 0;
  fibers.fibers[thread].state = FiberState::at_barrier;
  if (++at_barrier == running.threads) {
    release_barrier();
  } else {
    fibers.pause(thread);
  }
  if (!vote) return 0;
  int count = 0;
  for (int t = 0; t < running.threads; ++t) count += fibers.fibers[t].predicate;
  // A second barrier: a predicate is not overwritten before all threads have read it.
  wait_at_barrier(0, predicate);
  if (vote == 1) return count;
  return vote == 2 ? count == running.threads : count > 0;
}

void stop_kernel() {
  running.is_stopped = true;
  Fibers::all().pause(running.thread);
  __builtin_unreachable();
}

unsigned long long packed(unsigned x, unsigned y, unsigned z) {
  return x | static_cast<unsigned long long>(y) << 31 | static_cast<unsigned long long>(z) << 47;
}

std::string thread_text(int thread) {
  const auto triple = [](unsigned x, unsigned y, unsigned z) {
    return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
  };
  const std::string block = triple(running.index.x, running.index.y, running.index.z);
  if (thread < 0) return block;
  const Sizes& size = running.run->block;
  const auto t = static_cast<unsigned>(thread);
  const std::string index = size.y * size.z == 1
                                ? std::to_string(t)
                                : triple(t % size.x, t / size.x % size.y, t / size.x / size.y);
  return "thread " + index + " of block " + block;
}

}  // namespace emulator
