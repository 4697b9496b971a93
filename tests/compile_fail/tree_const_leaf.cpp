// expect: this leaf cannot be replaced
#include "plait/core/trees/tree.h"

struct Leaf {};
template <>
inline constexpr bool plait::is_tree_leaf<Leaf> = true;

struct Model {
  const Leaf leaf;
};
auto model = plait::trees::map_leaves<Leaf>(Model{}, [](const Leaf& leaf) { return leaf; });
