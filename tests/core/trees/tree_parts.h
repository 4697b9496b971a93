// Leaves and trees for tests.
#pragma once

#include <string_view>

#include "plait/core/trees/tree.h"

namespace plait {

struct Leaf {  // without operator==
  int id = 0;
};
template <>
inline constexpr bool is_tree_leaf<Leaf> = true;

enum class Mode { train, test };
inline std::string_view name_of(Mode mode) { return mode == Mode::train ? "train" : "test"; }

}  // namespace plait
