#include "plait/tensor/memory/buffer.h"

#include <memory>

#include "plait/tensor/inside/memory/buffer_source.h"

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

void Buffer::destroy(MemoryBlock* block) noexcept {
  if (block->memory != nullptr) return free_block_on_device(block);
  if (block->release != nullptr) {
    (*block->release)();
    delete block->release;
    block->release = nullptr;
    block->data = block->own_data();
    block->is_borrowed = false;
  }
  free_block(block);
}

}  // namespace plait
