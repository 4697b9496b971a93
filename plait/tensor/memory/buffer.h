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
  // Then the caller may change the bytes: what is kept of them is dropped.
  bool is_writable() const {
    if (block_->owners.load(std::memory_order_acquire) != 1 || is_borrowed()) return false;
    if (block_->uses.load(std::memory_order_relaxed) != 0) forget(block_);
    return true;
  }

  // ---- Data that is kept with the bytes.

  // A program was given the bytes, and does not change them.
  void note_use() const {
    uint8_t uses = block_->uses.load(std::memory_order_relaxed);
    if (uses >= kEnoughUses || !can_keep()) return;
    block_->uses.compare_exchange_strong(uses, static_cast<uint8_t>(uses + 1));
  }
  // True if several programs were given them: data that is computed of them will be needed again.
  bool is_in_use() const { return block_->uses.load(std::memory_order_relaxed) == kEnoughUses; }
  // Nobody changes the borrowed bytes: they are of a file, say.
  void declare_constant() const { block_->is_constant = true; }
  // Others get the address, and may change the bytes: nothing is kept from now on.
  void lend() const;
  // The data that is kept, made by `make` if there is none. Only if is_in_use().
  KeptData& kept(KeptData* (*make)()) const;
  friend bool operator==(const Buffer&, const Buffer&) = default;  // the same memory

 private:
  static Buffer elsewhere(void* data, std::function<void()> release, bool is_borrowed);
  static void destroy(MemoryBlock* block) noexcept;
  static void forget(MemoryBlock* block) noexcept;
  // Memory from the allocator of the host, or that does not change.
  bool can_keep() const { return block_->data == block_->own_data() || block_->is_constant; }
  explicit Buffer(MemoryBlock* block) : block_(block) {}

  static constexpr uint8_t kEnoughUses = 2, kLent = 255;

  MemoryBlock* block_ = nullptr;
};

}  // namespace plait
