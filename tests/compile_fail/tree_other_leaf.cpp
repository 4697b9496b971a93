// expect: the tree has leaves of another type
#include "plait/core/trees/tree.h"

struct Leaf {};
template <>
inline constexpr bool plait::is_tree_leaf<Leaf> = true;

struct Other {};
std::vector<Leaf> tree;
auto all = plait::leaves<Other>(tree);
