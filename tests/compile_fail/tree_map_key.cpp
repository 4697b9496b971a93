// expect: the keys of a map in a tree are strings or integers
#include "plait/core/trees/tree.h"

struct Leaf {};
template <>
inline constexpr bool plait::is_tree_leaf<Leaf> = true;

std::map<double, Leaf> tree;
size_t count = plait::leaf_count(tree);
