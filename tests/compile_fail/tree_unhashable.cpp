// expect: a static field of a tree must have std::hash and ==
#include "plait/core/trees/tree.h"

struct Leaf {};
template <>
inline constexpr bool plait::is_tree_leaf<Leaf> = true;

struct Model {
  Leaf leaf;
  std::function<double(double)> activation;
};
auto key = plait::key_of(Model{});
