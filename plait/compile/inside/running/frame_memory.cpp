#include "plait/compile/inside/running/frame_memory.h"

#include <algorithm>

#include "plait/tensor/memory/memory.h"

namespace plait::compile {
namespace {

Buffer allocated(int64_t bytes) {
  static const uint16_t temporaries = DefaultMemoryTag::index_of("temporaries");
  const DefaultMemoryTag tag(temporaries);
  return Buffer::allocate(bytes);
}

}  // namespace

FrameMemory::FrameMemory(const BoundFunction& bound, const ArenaOptions& options)
    : offsets_(bound.offsets), options_(options) {
  if (options_.is_guarded) {
    guarded_.resize(offsets_.size());
  } else if (bound.frame_bytes > 0) {
    block_ = allocated(bound.frame_bytes);
  }
}

Array FrameMemory::guarded_place(Register r, DType dtype, Layout layout) {
  GuardedBlock& block = guarded_[r];
  if (block) block.expect_untouched();
  block = GuardedBlock(layout.element_count() * size_of(dtype), options_.shift, size_of(dtype));
  return Array(dtype, std::move(layout), block.buffer());
}

bool FrameMemory::contains(const Buffer& buffer) const {
  if (!options_.is_guarded) return block_ && buffer == block_;
  return std::ranges::find(guarded_, buffer, &GuardedBlock::buffer) != guarded_.end();
}

void FrameMemory::expect_untouched() const {
  for (const GuardedBlock& block : guarded_) {
    if (block) block.expect_untouched();
  }
}

}  // namespace plait::compile
