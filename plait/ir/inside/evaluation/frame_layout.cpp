#include "plait/ir/inside/evaluation/frame_layout.h"

namespace plait::ir {

FrameLayout::FrameLayout(const Function& function)
    : function_(function), slots_(function.value_count(), kNowhere) {
  std::vector<ValueId> used = list_uses();
  find_last_uses(used);
  assign_slots(used);
}

std::vector<ValueId> FrameLayout::list_uses() {
  std::vector<ValueId> used;
  auto add = [&](std::span<const ValueId> values) {
    first_use_.push_back(static_cast<uint32_t>(used.size()));
    used.insert(used.end(), values.begin(), values.end());
  };
  first_use_.reserve(function_.size() + 2);
  for (Instruction instruction : function_.instructions()) add(instruction.operands());
  add(function_.results());
  first_use_.push_back(static_cast<uint32_t>(used.size()));
  return used;
}

void FrameLayout::find_last_uses(const std::vector<ValueId>& used) {
  uses_.resize(used.size());
  std::vector<bool> used_later(function_.value_count());
  for (size_t i = used.size(); i-- > 0;) {
    uses_[i].last = !used_later[used[i]];
    used_later[used[i]] = true;
  }
  for (ValueId value = 0; value < slots_.size(); ++value) {
    if (used_later[value]) slots_[value] = 0;  // needs a slot, assigned below
  }
}

void FrameLayout::assign_slot(ValueId value, std::vector<uint32_t>& free) {
  if (slots_[value] == kNowhere) return;
  if (free.empty()) {
    slots_[value] = slot_count_++;
    return;
  }
  slots_[value] = free.back();
  free.pop_back();
}

void FrameLayout::assign_slots(const std::vector<ValueId>& used) {
  std::vector<uint32_t> free;
  for (ValueId value = 0; value < function_.parameter_count(); ++value) assign_slot(value, free);
  for (size_t i = 0; i <= function_.size(); ++i) {
    for (size_t k = first_use_[i]; k < first_use_[i + 1]; ++k) {
      uses_[k].slot = slots_[used[k]];
      if (uses_[k].last) free.push_back(uses_[k].slot);
    }
    if (i == function_.size()) break;
    Instruction instruction = function_.instruction(i);
    for (size_t k = 0; k < instruction.result_count(); ++k)
      assign_slot(instruction.result(k), free);
  }
}

}  // namespace plait::ir
