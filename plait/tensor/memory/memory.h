// Allocator of arrays. Freed blocks are cached and reused, since the first touch of a fresh page
// costs more than most kernels. Blocks are aligned to 64 bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/device.h"
#include "plait/core/settings.h"

namespace plait {

class DeviceMemory;
class KeptData;

namespace setting {
extern Setting<int64_t> kMemoryLimit, kDeviceMemoryLimit;
}

// Decrements the count; true if this was the last owner. The only owner needs no atomic
// read-modify-write, since no other owner can appear.
inline bool release_owner(std::atomic<uint32_t>& owners) {
  return owners.load(std::memory_order_acquire) == 1 ||
         owners.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

// Header of a block; the requested bytes follow directly, unless they are on another device.
struct alignas(64) MemoryBlock {
  int64_t bytes = 0;  // as requested
  uint16_t size_class = 0;
  uint16_t tag = 0;                          // see MemoryTag
  std::atomic<uint32_t> owners{1};           // for Buffer
  std::function<void()>* release = nullptr;  // for Buffer, if the bytes are outside the block
  std::byte* data = own_data();
  MemoryBlock* next = nullptr;           // in a free list
  DeviceMemory* memory = nullptr;        // owner of `data`; null for the host's
  Device device = {};                    // where `data` is
  bool is_borrowed = false;              // for Buffer: the bytes belong to someone else
  bool is_constant = false;              // see Buffer::declare_constant
  std::atomic<uint8_t> uses{0};          // see Buffer::note_use
  std::atomic<KeptData*> kept{nullptr};  // see Buffer::kept

  std::byte* own_data() { return reinterpret_cast<std::byte*>(this + 1); }
};
static_assert(sizeof(MemoryBlock) == 64);

// MemoryError, before any page is touched, if the machine, the container or the setting
// `memory_limit` does not allow so much. The bytes are not initialised.
MemoryBlock* allocate_block(int64_t bytes);
void free_block(MemoryBlock* block) noexcept;
// The same in the memory of a device other than the CPU, up to the setting `device_memory_limit`.
MemoryBlock* allocate_block_on(Device device, int64_t bytes);
void free_block_on_device(MemoryBlock* block) noexcept;

struct MemoryStatistics {
  std::string tag;         // "" for memory without a tag
  int64_t live_bytes = 0;  // live bytes of blocks in use, as requested
  int64_t peak_bytes = 0;  // maximum of live_bytes since the start or the last reset
};

// For one device: for all tags together, and one entry for each tag ever used.
MemoryStatistics memory_statistics(Device device = {});
std::vector<MemoryStatistics> memory_statistics_by_tag(Device device = {});
void reset_peak_memory(Device device);  // sets each peak to the bytes that are live now
void reset_peak_memory();               // on all devices
int64_t cached_memory();                // bytes of free blocks that are kept for reuse
void release_cached_memory();           // returns them to the system, except those of other threads
// A function that releases what is kept only to save time. It is called by release_cached_memory(),
// and before an allocation is refused; not concurrently with itself.
void set_memory_reserve(void (*release)());

// While one exists, memory that its thread allocates is counted under this tag: const MemoryTag
// tag("data"). At most 250 different tags in a process; ValueError beyond.
class MemoryTag {
 public:
  explicit MemoryTag(std::string_view tag);
  ~MemoryTag();
  MemoryTag(const MemoryTag&) = delete;
  MemoryTag& operator=(const MemoryTag&) = delete;

 private:
  uint16_t outer_;
};

// The same for what a part of the library allocates: where the thread has a tag, that one stays.
class DefaultMemoryTag {
 public:
  static uint16_t index_of(std::string_view tag);  // found once, used often
  explicit DefaultMemoryTag(uint16_t index);
  ~DefaultMemoryTag();
  DefaultMemoryTag(const DefaultMemoryTag&) = delete;
  DefaultMemoryTag& operator=(const DefaultMemoryTag&) = delete;

 private:
  uint16_t outer_;
};

}  // namespace plait
