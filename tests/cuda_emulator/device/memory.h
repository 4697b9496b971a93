// The memory of an emulated device: one file mapped twice. Callers see addresses that they cannot
// touch; kernels and copies use the second mapping. For each byte it is known whether it is
// allocated and whether it was written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "tests/cuda_emulator/device/shadow.h"

namespace emulator {

// A set of bytes of a region, one bit each.
class ByteSet {
 public:
  explicit ByteSet(size_t bytes);
  ByteSet(const ByteSet&) = delete;
  ~ByteSet();

  void set(size_t offset, size_t count, bool value);
  bool has_all(size_t offset, size_t count) const;
  // As has_all, for at most 16 bytes.
  bool has_few(size_t offset, unsigned count) const {
    uint32_t word;
    __builtin_memcpy(&word, bits_ + offset / 8, 4);
    const uint32_t wanted = ((1u << count) - 1) << (offset % 8);
    return (word & wanted) == wanted;
  }
  void set_few(size_t offset, unsigned count) {
    uint32_t word;
    __builtin_memcpy(&word, bits_ + offset / 8, 4);
    word |= ((1u << count) - 1) << (offset % 8);
    __builtin_memcpy(bits_ + offset / 8, &word, 4);
  }
  bool has(size_t offset) const { return bits_[offset / 8] >> (offset % 8) & 1; }

 private:
  size_t size_;
  uint8_t* bits_;
};

// State of each byte of a region of memory that the checker watches.
struct Watched {
  explicit Watched(size_t bytes) : live(bytes), written(bytes), shadow(bytes) {}
  ByteSet live, written;
  Shadow shadow;
};

struct Allocation {
  uint64_t begin = 0;  // as callers see it
  size_t bytes = 0;
  bool stream_ordered = false;
  bool free_queued = false;  // a free in the order of a stream was asked for
  void* pool = nullptr;
  bool live = false;
};

class DeviceMemory {
 public:
  DeviceMemory(int device, uint64_t hidden, char* access, size_t space, size_t total);

  // Finds room; the bytes are not allocated before make_live. The address is 0 if no memory is
  // left.
  uint64_t reserve(size_t bytes, bool stream_ordered, void* pool);
  void make_live(uint64_t begin);
  // Ends an allocation: its bytes are poisoned, and its room is reused as late as possible.
  void release(uint64_t begin);
  // Counts an allocation as free before its stream gets there.
  void count_free(Allocation& allocation);

  Allocation* find(uint64_t address);  // the one that holds this address; null: none
  // The allocation that holds it, or the next before it, in words; for messages.
  std::string place(uint64_t address);

  bool holds(uint64_t address) const { return address - hidden_ < space_; }
  bool holds_access(const void* address) const {
    return reinterpret_cast<uint64_t>(address) - access_begin() < space_;
  }
  char* access(uint64_t address) const { return access_ + (address - hidden_); }
  uint64_t access_begin() const { return reinterpret_cast<uint64_t>(access_); }
  uint64_t hidden_begin() const { return hidden_; }
  size_t space() const { return space_; }
  size_t total() const { return total_; }
  size_t used() const { return used_; }
  Watched& watched() { return watched_; }

 private:
  uint64_t find_room(size_t room);
  void return_room(uint64_t begin, size_t room);
  void discard_oldest();

  int device_;
  uint64_t hidden_;
  char* access_;
  size_t space_, total_, used_ = 0;
  uint64_t cursor_ = 0;
  Watched watched_;
  std::map<uint64_t, Allocation> allocations_;
  std::map<uint64_t, size_t> rooms_;  // offsets and sizes of what is free
  std::deque<std::pair<uint64_t, size_t>> poisoned_;
  size_t poisoned_bytes_ = 0;
};

// The file of the memory of all devices, and where its bytes are as callers see them: for other
// processes, which map it.
struct MemoryFile {
  int descriptor = -1;
  uint64_t begin = 0;
  size_t bytes = 0;
};
MemoryFile memory_file();

// The memory of a device; made when first asked for.
DeviceMemory& memory_of(int device);
// The device whose memory has this address, as callers see it; -1: none.
int device_with(uint64_t address);
int device_with_access(const void* address);

// A part of the caller's address space that callers cannot touch, standing for memory of a module.
uint64_t reserve_alias(char* target, size_t bytes);
void release_alias(uint64_t address);
// The bytes behind an alias and how many follow; null: no alias.
char* alias_target(uint64_t address, size_t& following);

constexpr unsigned char kFreshByte = 0xff;   // a NaN in every floating-point type
constexpr unsigned char kPoisonByte = 0xfe;  // in freed memory

}  // namespace emulator
