#include "plait/ir/function.h"

#include <algorithm>

namespace plait::ir {

bool operator==(const Callee& a, const Callee& b) {
  return a.name == b.name && std::ranges::equal(a.sizes, b.sizes, kSame);
}

std::optional<Instruction> Function::definition(ValueId value) const {
  uint32_t place = definitions_[value];
  if (place == 0) return std::nullopt;
  return Instruction(*this, place - 1);
}

void for_each_size(const Instruction& instruction, const std::function<void(Dim symbol)>& visit) {
  const auto visit_symbols = [&](Dim dim) { dim.for_each_symbol(visit); };
  for (const Type& type : instruction.result_types()) type.for_each_dim(visit_symbols);
  if (instruction.attributes()) instruction.attributes().for_each_dim(visit_symbols);
  for (const Callee& callee : instruction.callees())
    std::ranges::for_each(callee.sizes, visit_symbols);
  std::ranges::for_each(instruction.size_arguments(), visit_symbols);
  std::ranges::for_each(instruction.size_results(), visit_symbols);
}

}  // namespace plait::ir
