// Reference-counted memory. Copies of a Buffer share the bytes; the last owner frees them.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "plait/tensor/memory/memory.h"

namespace plait {

class Buffer {
 public:
  Buffer() = default;
  // Not initialised; MemoryError if there is not enough memory.
  static Buffer allocate(int64_t bytes);
  static Buffer allocate_on(Device device, int64_t bytes);
  // Workspace that is released before the operation ends: while a program runs, it comes from the
  // memory planned for it (buffer_source.h).
  static Buffer allocate_work(int64_t bytes);
  // From the cache, even if a source is set.
  static Buffer from_cache(int64_t bytes) { return Buffer(allocate_block(bytes)); }
  // Borrows memory that is never written to. `release` is called when the last owner is gone, on
  // any thread, and must not throw.
  static Buffer borrow(const void* data, std::function<void()> release);
  // The same on another device.
  static Buffer borrow_on(Device device, void* data, std::function<void()> release);
  // The same as `borrow`, but takes ownership: the memory may be written to.
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
    if (block_ && release_owner(block_->owners)) destroy(block_);
  }

  explicit operator bool() const { return block_ != nullptr; }
  Device device() const { return block_->device; }
  bool is_on_host() const { return block_->memory == nullptr; }
  // An address in the memory of its device.
  std::byte* data() const { return block_->data; }
  bool is_borrowed() const { return block_->is_borrowed; }
  // True if this is the only owner and the memory is not borrowed.
  bool is_writable() const {
    return block_->owners.load(std::memory_order_acquire) == 1 && !is_borrowed();
  }
  friend bool operator==(const Buffer&, const Buffer&) = default;  // the same memory

 private:
  static Buffer elsewhere(void* data, std::function<void()> release, bool is_borrowed);
  static void destroy(MemoryBlock* block) noexcept;
  explicit Buffer(MemoryBlock* block) : block_(block) {}

  MemoryBlock* block_ = nullptr;
};

}  // namespace plait
