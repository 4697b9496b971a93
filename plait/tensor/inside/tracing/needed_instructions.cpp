#include "plait/tensor/inside/tracing/needed_instructions.h"

#include <utility>

namespace plait {

NeededInstructions::NeededInstructions(const OpenFunction& function, const PendingValues& values,
                                       uint32_t effects_until)
    : function_(function), values_(values), effects_until_(effects_until) {}

bool NeededInstructions::is_known(ir::ValueId value) const {
  return values_.find_computed(value) || function_.captures().find_tensor(value) != nullptr;
}

bool NeededInstructions::has_effects(const ir::Instruction& instruction) const {
  return function_.program()->has_effects(instruction);
}

void NeededInstructions::add_all_effects() {
  const ir::Function& function = function_.so_far();
  std::vector<ir::ValueId> waiting;
  const uint32_t begin = effects_until_;
  for (uint32_t i = begin; i < function.size(); ++i) {
    if (has_effects(function.instruction(i))) add(i, waiting);
  }
  add(std::move(waiting));
}

void NeededInstructions::add(std::vector<ir::ValueId> values) {
  while (!values.empty()) {
    const ir::ValueId value = values.back();
    values.pop_back();
    if (is_known(value)) {
      known_.insert(value);
    } else {
      add(function_.so_far().definition(value)->index(), values);
    }
  }
}

void NeededInstructions::add(uint32_t index, std::vector<ir::ValueId>& waiting) {
  if (!instructions_.insert(index).second) return;
  const ir::Instruction instruction = function_.so_far().instruction(index);
  for (const ir::ValueId operand : instruction.operands()) waiting.push_back(operand);
  if (index < effects_until_ || !has_effects(instruction)) return;
  for (uint32_t i = std::exchange(effects_until_, index + 1); i < index; ++i) {
    if (has_effects(function_.so_far().instruction(i))) add(i, waiting);
  }
}

}  // namespace plait
