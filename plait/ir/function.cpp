#include "plait/ir/function.h"

namespace plait::ir {

std::optional<Instruction> Function::definition(ValueId value) const {
  uint32_t place = definitions_[value];
  if (place == 0) return std::nullopt;
  return Instruction(*this, place - 1);
}

}  // namespace plait::ir
