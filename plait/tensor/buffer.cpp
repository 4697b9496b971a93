#include "plait/tensor/buffer.h"

#include <memory>

namespace plait {

Buffer Buffer::borrow(const void* data, std::function<void()> release) {
  if (!release) release = [] {};
  auto kept = std::make_unique<std::function<void()>>(std::move(release));
  Buffer buffer = allocate(0);
  buffer.block_->release = kept.release();
  buffer.block_->data = static_cast<std::byte*>(const_cast<void*>(data));
  return buffer;
}

void Buffer::destroy(MemoryBlock* block) noexcept {
  if (block->release != nullptr) {
    (*block->release)();
    delete block->release;
    block->release = nullptr;
    block->data = block->own_data();
  }
  free_block(block);
}

}  // namespace plait
