// Traversal of a type and the types inside it.
#pragma once

#include <vector>

#include "plait/ir/type.h"

namespace plait::ir {

// Calls visit(type) for the type and each one inside tuples and optionals. (A record is visited,
// but not its fields.)
template <class Visit>
void for_each_type(const Type& type, Visit&& visit) {
  if (type.is_array() || type.is_record()) return visit(type);
  std::vector<const Type*> waiting{&type};
  while (!waiting.empty()) {
    const Type& next = *waiting.back();
    waiting.pop_back();
    visit(next);
    if (next.is_optional()) waiting.push_back(&next.element());
    if (next.is_tuple())
      for (size_t i = next.elements().size(); i-- > 0;) waiting.push_back(&next.elements()[i]);
  }
}

}  // namespace plait::ir
