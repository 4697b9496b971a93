// Who accessed memory since the last synchronisation: the race checker. Each access gets the time
// of a clock that barriers move on; two accesses race if no barrier of both threads lies between
// them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace emulator {

enum class AccessKind : uint8_t { read, write, atomic };

// The last accesses of a word or a byte. Bits of each: 0-11 who, 12 atomic, 13 an earlier block of
// the launch too, and from 16 the time. Who: a thread below 1024; 1024 + w: several threads of warp
// w; 2047: threads of several warps.
struct AccessCell {
  uint64_t write = 0;
  uint64_t read = 0;
};

// The times that decide which accesses are ordered.
struct Clock {
  uint64_t now = 1;
  uint64_t launch_start = 0, block_start = 0, barrier = 0;
  uint64_t warp_barrier[1024] = {};  // the last one of each thread
};

// An earlier access that races with this one.
struct Race {
  bool found = false;
  bool between_blocks = false;
  bool earlier_writes = false;
  unsigned who = 0;
};

class Shadow {
 public:
  explicit Shadow(size_t bytes);
  Shadow(const Shadow&) = delete;
  ~Shadow();

  // Notes an access of a thread. `floor`: accesses before this time do not count.
  Race note(size_t offset, unsigned bytes, AccessKind kind, unsigned thread, const Clock& clock,
            uint64_t floor);
  void forget(size_t offset, size_t bytes);

 private:
  AccessCell* split(size_t word, const Clock& clock, uint64_t floor);

  size_t size_;
  AccessCell* words_;  // one for four bytes
  AccessCell* bytes_;  // one for each byte of words that were accessed in parts
};

}  // namespace emulator
