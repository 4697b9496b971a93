// expect: a static field of a tree must have std::hash and ==
#include "plait/core/trees/tree.h"

struct Leaf {};
template <>
inline constexpr bool plait::is_tree_leaf<Leaf> = true;

struct Base {
  Leaf a;
};
struct Derived : Base {
  Leaf b;
};
size_t count = plait::leaf_count(Derived{});
