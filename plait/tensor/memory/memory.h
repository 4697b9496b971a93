// Where the bytes of arrays come from. Memory that is let go is kept and given out again, since the
// first touch of a fresh page costs more than most kernels; every block begins on 64 bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

// One owner fewer; whether that was the last. The only owner need not ask the other processors,
// since nobody else can become one.
inline bool let_go(std::atomic<uint32_t>& owners) {
  return owners.load(std::memory_order_acquire) == 1 ||
         owners.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

// What a block begins with; the bytes that were asked for follow at once.
struct alignas(64) MemoryBlock {
  int64_t bytes = 0;  // that were asked for
  uint16_t size_class = 0;
  uint16_t tag = 0;                          // in whose name
  std::atomic<uint32_t> owners{1};           // for Buffer
  std::function<void()>* release = nullptr;  // for Buffer: of bytes that lie elsewhere
  std::byte* data = own_data();
  MemoryBlock* next = nullptr;  // in a list of free blocks
  bool is_borrowed = false;     // for Buffer: bytes of somebody else's

  std::byte* own_data() { return reinterpret_cast<std::byte*>(this + 1); }
};
static_assert(sizeof(MemoryBlock) == 64);

// MemoryError, before a page is touched, when there is not that much: of the machine, of the
// container, or of the setting `memory_limit`. The bytes are not cleared.
MemoryBlock* allocate_block(int64_t bytes);
void free_block(MemoryBlock* block) noexcept;

struct MemoryStatistics {
  std::string tag;         // "" for what has none
  int64_t live_bytes = 0;  // of blocks that are in use, as asked for
  int64_t peak_bytes = 0;  // the most that were live at a time, since the start or the reset
};

// Of all tags together, and of each tag that was ever used.
MemoryStatistics memory_statistics();
std::vector<MemoryStatistics> memory_statistics_by_tag();
void reset_peak_memory();      // the peaks begin again at what is live
int64_t cached_memory();       // bytes that are kept for later, which nobody uses
void release_cached_memory();  // gives them back to the system; those other threads keep stay

// While this lives, memory that its thread asks for counts under a tag: const MemoryTag
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

}  // namespace plait
