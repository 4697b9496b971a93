#include "plait/tensor/memory/buffer.h"

#include <memory>

#include "plait/tensor/inside/memory/buffer_source.h"
#include "plait/tensor/inside/memory/kept_data.h"
#include "plait/tensor/memory/device_memory.h"

namespace plait {

Buffer Buffer::allocate(int64_t bytes) {
  BufferSource* const source = BufferSource::current();
  return source == nullptr ? from_cache(bytes) : source->allocate(bytes);
}

Buffer Buffer::allocate_on(Device device, int64_t bytes) {
  return device.is_cpu() ? allocate(bytes) : Buffer(allocate_block_on(device, bytes));
}

Buffer Buffer::allocate_work(int64_t bytes) {
  BufferSource* const source = BufferSource::current();
  return source == nullptr ? from_cache(bytes) : source->allocate_work(bytes);
}

Buffer Buffer::borrow(const void* data, std::function<void()> release) {
  return elsewhere(const_cast<void*>(data), std::move(release), true);
}

Buffer Buffer::borrow_on(Device device, void* data, std::function<void()> release) {
  DeviceMemory& memory = device_memory(device);
  Buffer buffer = borrow(data, std::move(release));
  buffer.block_->device = device;
  buffer.block_->memory = &memory;
  return buffer;
}

Buffer Buffer::adopt(void* data, std::function<void()> release) {
  return elsewhere(data, std::move(release), false);
}

Buffer Buffer::elsewhere(void* data, std::function<void()> release, bool is_borrowed) {
  if (!release) release = [] {};
  auto kept = std::make_unique<std::function<void()>>(std::move(release));
  Buffer buffer = from_cache(0);
  buffer.block_->release = kept.release();
  buffer.block_->data = static_cast<std::byte*>(data);
  buffer.block_->is_borrowed = is_borrowed;
  return buffer;
}

void Buffer::lend() const { block_->uses.store(kLent, std::memory_order_relaxed); }

KeptData& Buffer::kept(KeptData* (*make)()) const {
  KeptData* known = block_->kept.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  std::unique_ptr<KeptData> made(make());
  const bool is_first =
      block_->kept.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel);
  return is_first ? *made.release() : *known;
}

void Buffer::forget(MemoryBlock* block) noexcept {
  delete block->kept.exchange(nullptr, std::memory_order_acq_rel);
  if (block->uses.load(std::memory_order_relaxed) != kLent) {
    block->uses.store(0, std::memory_order_relaxed);
  }
}

void Buffer::destroy(MemoryBlock* block) noexcept {
  if (block->uses.load(std::memory_order_relaxed) != 0) {
    forget(block);
    block->uses.store(0, std::memory_order_relaxed);
  }
  if (block->release == nullptr) {
    return block->memory != nullptr ? free_block_on_device(block) : free_block(block);
  }
  (*block->release)();
  delete block->release;
  block->release = nullptr;
  block->data = block->own_data();
  block->is_borrowed = block->is_constant = false;
  block->memory = nullptr;
  block->device = {};
  free_block(block);
}

}  // namespace plait
