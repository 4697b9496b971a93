// expect: never seen
#include "plait/core/trees/tree.h"

struct Leaf {};
template <>
inline constexpr bool plait::is_tree_leaf<Leaf> = true;

struct Model {
  Leaf leaf;
  int heads;
};
size_t count = plait::leaf_count(Model{});
