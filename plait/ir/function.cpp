#include "plait/ir/function.h"

#include <algorithm>

namespace plait::ir {

std::optional<Instruction> Function::definition(ValueId value) const {
  uint32_t place = definitions_[value];
  if (place == 0) return std::nullopt;
  return Instruction(*this, place - 1);
}

std::string_view Function::label(ValueId value) const {
  auto place =
      std::lower_bound(labels_.begin(), labels_.end(), value,
                       [](const auto& entry, ValueId wanted) { return entry.first < wanted; });
  return place != labels_.end() && place->first == value ? std::string_view(place->second) : "";
}

}  // namespace plait::ir
