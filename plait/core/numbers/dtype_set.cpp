#include "plait/core/numbers/dtype_set.h"

#include <string_view>
#include <utility>

namespace plait {

std::string DTypeSet::text() const {
  static constexpr std::pair<DTypeSet, std::string_view> kGroups[] = {
      {kBoolean, "bool"},
      {kIntegers, "integer"},
      {kFloatings, "floating"},
      {kComplexes, "complex"},
      {DTypeSet(DType::key), "key"}};
  std::string text;
  const auto add = [&](std::string_view name) {
    if (!text.empty()) text += ", ";
    text += name;
  };
  for (const auto& [group, name] : kGroups) {
    if ((bits_ & group.bits_) == group.bits_) {
      add(name);
      continue;
    }
    for (const DTypeInfo& info : kDTypes) {
      if (group.contains(info.dtype) && contains(info.dtype)) add(info.name);
    }
  }
  return text;
}

}  // namespace plait
