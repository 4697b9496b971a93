#include "tests/cuda_emulator/device/shadow.h"

#include <algorithm>
#include <new>

#include <sys/mman.h>

namespace emulator {
namespace {

constexpr uint64_t kWho = 0xfff, kAtomic = 1 << 12, kOtherBlocks = 1 << 13;
constexpr unsigned kSeveralWarps = 2047, kWarp = 1024;
// In place of a word's accesses: they are in the cells of its bytes.
constexpr uint64_t kSplit = 1 << 14;

uint64_t time_of(uint64_t record) { return record >> 16; }
unsigned who_of(uint64_t record) { return static_cast<unsigned>(record & kWho); }

bool same_warp(unsigned who, unsigned thread) {
  return who < kWarp ? who / 32 == thread / 32 : who != kSeveralWarps && who - kWarp == thread / 32;
}

// True if a barrier of the warp orders an earlier access of threads of this thread's warp.
bool ordered_by_warp(unsigned who, uint64_t time, unsigned thread, const Clock& clock) {
  if (time >= clock.warp_barrier[thread]) return false;
  return who >= kWarp || time < clock.warp_barrier[who];
}

bool ordered_in_block(uint64_t record, unsigned thread, const Clock& clock) {
  const uint64_t time = time_of(record);
  if (time < clock.barrier) return true;
  const unsigned who = who_of(record);
  return who == thread || (same_warp(who, thread) && ordered_by_warp(who, time, thread, clock));
}

bool races(uint64_t record, unsigned thread, const Clock& clock, uint64_t floor, Race& race) {
  if (!record || time_of(record) < floor) return false;
  race.between_blocks = time_of(record) < clock.block_start || (record & kOtherBlocks);
  if (!race.between_blocks && ordered_in_block(record, thread, clock)) return false;
  race.who = who_of(record);
  return race.found = true;
}

// The record of an access that comes after those of `earlier`, which it does not race with.
uint64_t merged(uint64_t earlier, unsigned thread, uint64_t flags, const Clock& clock,
                uint64_t floor) {
  uint64_t who = thread;
  if (earlier && time_of(earlier) >= floor) {
    flags |= earlier & kOtherBlocks;
    if (time_of(earlier) < clock.block_start) {
      flags |= kOtherBlocks;
    } else if (!ordered_in_block(earlier, thread, clock)) {
      who = same_warp(who_of(earlier), thread) ? kWarp + thread / 32 : kSeveralWarps;
    }
  }
  return clock.now << 16 | flags | who;
}

Race note_cell(AccessCell& cell, AccessKind kind, unsigned thread, const Clock& clock,
               uint64_t floor) {
  Race race;
  const bool both_atomic = kind == AccessKind::atomic && (cell.write & kAtomic);
  if (!both_atomic && races(cell.write, thread, clock, floor, race)) race.earlier_writes = true;
  if (kind == AccessKind::read) {
    cell.read = merged(cell.read, thread, 0, clock, floor);
    return race;
  }
  if (!race.found) races(cell.read, thread, clock, floor, race);
  if (both_atomic) {
    cell.write = merged(cell.write, thread, kAtomic, clock, floor);
  } else {
    cell.write = clock.now << 16 | (kind == AccessKind::atomic ? kAtomic : 0) | thread;
  }
  return race;
}

AccessCell* map_cells(size_t count) {
  void* cells = mmap(nullptr, count * sizeof(AccessCell), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (cells == MAP_FAILED) throw std::bad_alloc();
  madvise(cells, count * sizeof(AccessCell), MADV_DONTDUMP);
  return static_cast<AccessCell*>(cells);
}

// Returns whole pages of cells to the system; they read as zeros then.
void discard(AccessCell* cells, size_t begin, size_t end) {
  const auto first = (reinterpret_cast<uintptr_t>(cells + begin) + 4095) & ~uintptr_t{4095};
  const auto last = reinterpret_cast<uintptr_t>(cells + end) & ~uintptr_t{4095};
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace

Shadow::Shadow(size_t bytes)
    : size_(bytes), words_(map_cells(bytes / 4 + 4)), bytes_(map_cells(bytes + 16)) {}

Shadow::~Shadow() {
  munmap(words_, (size_ / 4 + 4) * sizeof(AccessCell));
  munmap(bytes_, (size_ + 16) * sizeof(AccessCell));
}

void Shadow::forget(size_t offset, size_t bytes) {
  discard(words_, offset / 4, (offset + bytes) / 4);
  discard(bytes_, offset, offset + bytes);
}

AccessCell* Shadow::split(size_t word, const Clock& clock, uint64_t floor) {
  AccessCell& whole = words_[word];
  AccessCell* parts = bytes_ + word * 4;
  const bool is_split = (whole.write & kSplit) && time_of(whole.write) >= floor;
  if (!is_split) {
    if (whole.write & kSplit) whole = {};
    std::fill(parts, parts + 4, whole);
  }
  whole.write = clock.now << 16 | kSplit;
  whole.read = 0;
  return parts;
}

Race Shadow::note(size_t offset, unsigned bytes, AccessKind kind, unsigned thread,
                  const Clock& clock, uint64_t floor) {
  Race first;
  const size_t end = offset + bytes;
  while (offset < end) {
    const size_t word = offset / 4;
    AccessCell& whole = words_[word];
    const bool is_split = (whole.write & kSplit) && time_of(whole.write) >= floor;
    if (offset % 4 == 0 && end - offset >= 4 && !is_split) {
      if (whole.write & kSplit) whole = {};
      const Race race = note_cell(whole, kind, thread, clock, floor);
      if (race.found && !first.found) first = race;
      offset += 4;
      continue;
    }
    AccessCell* parts = split(word, clock, floor);
    for (; offset < end && offset / 4 == word; ++offset) {
      const Race race = note_cell(parts[offset % 4], kind, thread, clock, floor);
      if (race.found && !first.found) first = race;
    }
  }
  return first;
}

}  // namespace emulator
