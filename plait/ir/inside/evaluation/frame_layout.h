// Slot allocation for a function's values: each has a slot from its definition to its last use, so
// a chain of a million instructions needs only a few. Computed in two linear passes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/ir/function.h"

namespace plait::ir {

class FrameLayout {
 public:
  explicit FrameLayout(const Function& function);

  struct Use {
    uint32_t slot;
    bool last;  // true if this is the last use of the value
  };
  static constexpr uint32_t kNowhere = 0xffffffff;  // for a value that is never read

  const Function& function() const { return function_; }
  size_t slot_count() const { return slot_count_; }
  uint32_t slot_of(ValueId value) const { return slots_[value]; }
  // The operands of an instruction; if the index is the number of instructions, the function's
  // results.
  std::span<const Use> uses(size_t instruction) const {
    size_t first = first_use_[instruction];
    return {uses_.data() + first, first_use_[instruction + 1] - first};
  }

 private:
  std::vector<ValueId> list_uses();
  void find_last_uses(const std::vector<ValueId>& used);
  void assign_slots(const std::vector<ValueId>& used);
  void assign_slot(ValueId value, std::vector<uint32_t>& free);

  const Function& function_;
  std::vector<uint32_t> first_use_;
  std::vector<Use> uses_;
  std::vector<uint32_t> slots_;  // one per value
  uint32_t slot_count_ = 0;
};

}  // namespace plait::ir
