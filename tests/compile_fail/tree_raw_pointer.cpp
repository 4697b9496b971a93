// expect: a tree owns its parts by value
#include "plait/core/trees/tree.h"

struct Leaf {};
template <>
inline constexpr bool plait::is_tree_leaf<Leaf> = true;

struct Model {
  const char* name;
};
auto key = plait::key_of(Model{});
