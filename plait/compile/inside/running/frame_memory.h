// The memory of a call's registers: one block, at the offsets of the bound function. In guarded
// mode each register has a block of its own.
#pragma once

#include <vector>

#include "plait/compile/arena_options.h"
#include "plait/compile/inside/running/bound_plan.h"
#include "plait/compile/inside/running/guarded_memory.h"
#include "plait/tensor/memory/array.h"

namespace plait::compile {

class FrameMemory {
 public:
  FrameMemory(const BoundFunction& bound, const ArenaOptions& options);

  // An array of the type where the register is; empty if the register is not in the frame.
  Array place_of(Register r, const ArrayType& type) {
    const int64_t offset = offsets_[r];
    if (offset < 0) return {};
    Layout layout = Layout::contiguous(type.sizes);
    if (options_.is_guarded) return guarded_place(r, type.dtype, std::move(layout));
    layout.offset = offset / size_of(type.dtype);
    return Array(type.dtype, std::move(layout), block_);
  }
  bool contains(const Buffer& buffer) const;
  // In guarded mode: CheckError if something was written besides the registers.
  void expect_untouched() const;

 private:
  Array guarded_place(Register r, DType dtype, Layout layout);

  const std::vector<int64_t>& offsets_;  // offsets of the bound function
  const ArenaOptions options_;
  Buffer block_;
  std::vector<GuardedBlock> guarded_;  // one a register
};

}  // namespace plait::compile
