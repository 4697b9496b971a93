// Bytes with owners. Copies of a Buffer share them; the last one to go frees them.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "plait/tensor/memory/memory.h"

namespace plait {

class Buffer {
 public:
  Buffer() = default;
  // Not cleared; MemoryError when there is not that much.
  static Buffer allocate(int64_t bytes);
  // For who computes, and lets go of it before the operation is done: a program that is being run
  // has memory for that (buffer_source.h).
  static Buffer allocate_work(int64_t bytes);
  // From the cache, whatever the source.
  static Buffer from_cache(int64_t bytes) { return Buffer(allocate_block(bytes)); }
  // Memory of somebody else's, which is never written to; `release` is called when the last owner
  // goes, on whatever thread, and must not throw.
  static Buffer borrow(const void* data, std::function<void()> release);
  // The same, of memory that becomes the buffer's own, and may be written to.
  static Buffer adopt(void* data, std::function<void()> release);

  Buffer(const Buffer& other) : block_(other.block_) {
    if (block_) block_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  Buffer(Buffer&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Buffer& operator=(Buffer other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Buffer() {
    if (block_ && let_go(block_->owners)) destroy(block_);
  }

  explicit operator bool() const { return block_ != nullptr; }
  std::byte* data() const { return block_->data; }
  bool is_borrowed() const { return block_->is_borrowed; }
  // Nobody else sees these bytes, so they may change.
  bool is_writable() const {
    return block_->owners.load(std::memory_order_acquire) == 1 && !is_borrowed();
  }
  friend bool operator==(const Buffer&, const Buffer&) = default;  // the same bytes

 private:
  static Buffer elsewhere(void* data, std::function<void()> release, bool is_borrowed);
  static void destroy(MemoryBlock* block) noexcept;
  explicit Buffer(MemoryBlock* block) : block_(block) {}

  MemoryBlock* block_ = nullptr;
};

}  // namespace plait
