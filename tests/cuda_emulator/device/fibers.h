// Fibers with small stacks, and what each waits for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace emulator {

enum class FiberState : uint8_t { ready, at_barrier, in_warp, ended };

// A part of an exchange of a warp: the value that a thread brings, and its result.
struct WarpOperation {
  int kind = 0;  // 0: barrier, 1: shuffle, 2: vote
  unsigned mask = 0;
  int mode = 0, operand = 0, width = 0;
  unsigned long long value = 0, result = 0;
};

struct Fiber {
  void* stack_pointer = nullptr;
  FiberState state = FiberState::ended;
  int predicate = 0;
  unsigned long long index = 0;  // place in its block, packed
  WarpOperation operation;
};

constexpr size_t kStackBytes = 64 * 1024;

// Which lanes of a warp have not ended, and which wait in an exchange.
struct WarpLanes {
  unsigned running = 0, waiting = 0;
};

// The fibers of a block; all threads of the process share one set, since one kernel runs at a time.
struct Fibers {
  Fiber fibers[1024];
  WarpLanes warps[32];
  char* stacks = nullptr;
  void* scheduler = nullptr;

  static Fibers& all();
  void start(int index, void (*body)());
  void resume(int index);  // from the scheduler
  void pause(int index);   // from the fiber, to the scheduler
};

// The end of a thread lets an exchange of its warp go on that waits for the others alone.
void complete_warp_without(int thread);

}  // namespace emulator
