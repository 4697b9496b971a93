#include "plait/core/trees/tree.h"

namespace plait::trees {

void refuse_leaf_count(size_t in_tree, size_t given) {
  throw ValueError("replace_leaves: the tree has {} leaves, but {} were given", in_tree, given)
      .hint("take them with leaves() from a tree of the same structure");
}

void refuse_structure(const TreeKey& a, const TreeKey& b) {
  throw ValueError("map_leaves: the trees differ in structure: {}", explain_difference(a, b));
}

}  // namespace plait::trees
