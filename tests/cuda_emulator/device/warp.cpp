// Exchanges of a warp: they are complete when all threads of the mask that have not ended are
// there.
#include <cstdio>

#include "tests/cuda_emulator/device/block.h"
#include "tests/cuda_emulator/device/checks.h"
#include "tests/cuda_emulator/device/fibers.h"

namespace emulator {
namespace {

int warp_begin(int thread) { return thread / kWarpSize * kWarpSize; }

// The lane that a shuffle of `lane` reads, by the rules of segments of `width` lanes; -1: its own.
int source_lane(const WarpOperation& operation, int lane) {
  const int width = operation.width, base = lane / width * width;
  switch (operation.mode) {
    case 0: return base + (operation.operand & (width - 1));
    case 1: return lane - operation.operand < base ? -1 : lane - operation.operand;
    case 2: return lane + operation.operand >= base + width ? -1 : lane + operation.operand;
    default: return (lane ^ operation.operand) >= base + width ? -1 : lane ^ operation.operand;
  }
}

void compute_result(int first, int lane, unsigned lanes) {
  Fibers& fibers = Fibers::all();
  WarpOperation& operation = fibers.fibers[first + lane].operation;
  if (operation.kind == 1) {
    const int source = source_lane(operation, lane);
    if (source >= 0 && !(lanes >> source & 1)) {
      report("shuffle",
             thread_text(first + lane) + " shuffles from lane " + std::to_string(source) +
                 ", which takes no part in the exchange",
             nullptr, CUDA_ERROR_LAUNCH_FAILED);
      operation.result = ~0ull;
      return;
    }
    operation.result = fibers.fibers[first + (source < 0 ? lane : source)].operation.value;
  } else if (operation.kind == 2) {
    unsigned ballot = 0;
    for (int other = 0; other < kWarpSize; ++other) {
      if ((lanes >> other & 1) && fibers.fibers[first + other].operation.value)
        ballot |= 1u << other;
    }
    operation.result = ballot;
  }
}

// Completes the exchange that a thread waits in, if all are there.
bool complete(int thread) {
  Fibers& fibers = Fibers::all();
  const int first = warp_begin(thread);
  const WarpOperation& mine = fibers.fibers[thread].operation;
  WarpLanes& warp = fibers.warps[first / kWarpSize];
  const unsigned lanes = mine.mask & warp.running;
  if (lanes & ~warp.waiting) return false;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    const Fiber& other = fibers.fibers[first + lane];
    if (other.operation.mask != mine.mask || other.operation.kind != mine.kind) {
      return false;
    }
  }
  warp.waiting &= ~lanes;
  const int kind = mine.kind;
  if (kind == 0) ++running.clock.now;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    compute_result(first, lane, lanes);
    fibers.fibers[first + lane].state = FiberState::ready;
    if (kind == 0) running.clock.warp_barrier[first + lane] = running.clock.now;
  }
  return true;
}

bool is_width(int width) { return width >= 1 && width <= kWarpSize && (width & (width - 1)) == 0; }

unsigned long long exchange(const WarpOperation& operation) {
  Fibers& fibers = Fibers::all();
  const int thread = running.thread;
  if (!(operation.mask >> (thread % kWarpSize) & 1)) {
    char mask[16];
    std::snprintf(mask, sizeof mask, "0x%08x", operation.mask);
    report("mask", thread_text(thread) + " is not in the mask " + mask + " of its exchange",
           nullptr, CUDA_ERROR_LAUNCH_FAILED);
    stop_kernel();
  }
  if (operation.kind == 1 && !is_width(operation.width)) {
    report("width",
           thread_text(thread) + " shuffles with a width of " + std::to_string(operation.width) +
               ", which is not a power of two up to 32",
           nullptr, CUDA_ERROR_LAUNCH_FAILED);
    stop_kernel();
  }
  Fiber& fiber = fibers.fibers[thread];
  fiber.operation = operation;
  fiber.state = FiberState::in_warp;
  fibers.warps[thread / kWarpSize].waiting |= 1u << (thread % kWarpSize);
  if (!complete(thread)) fibers.pause(thread);
  return fiber.operation.result;
}

}  // namespace

void complete_warp_without(int thread) {
  const Fibers& fibers = Fibers::all();
  const int first = warp_begin(thread);
  for (int t = first; t < first + kWarpSize && t < running.threads; ++t) {
    if (fibers.fibers[t].state == FiberState::in_warp && complete(t)) return;
  }
}

void warp_barrier(unsigned mask) { exchange({.kind = 0, .mask = mask}); }

unsigned long long shuffle(unsigned mask, unsigned long long value, int mode, int operand,
                           int width) {
  return exchange(
      {.kind = 1, .mask = mask, .mode = mode, .operand = operand, .width = width, .value = value});
}

unsigned vote(unsigned mask, int predicate) {
  return static_cast<unsigned>(exchange({.kind = 2, .mask = mask, .value = predicate != 0}));
}

}  // namespace emulator
