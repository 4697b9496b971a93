#include "plait/core/trees/tree_visitor.h"

#include "plait/core/error.h"

namespace plait::trees {

void KeyVisitor::fixed(const StaticValue& value) {
  if (statics_ == Statics::count) {
    builder_.add(value);
  } else {
    builder_.add(kAnyStaticValue);
  }
}

void refuse_leaf(const TreeType& found, const TreeType& wanted) {
  throw TypeError("the tree has a leaf of type {}, expected {}", found.name, wanted.name);
}

void refuse_leaf_count(size_t in_tree, size_t given) {
  throw ValueError("the tree has {} leaves, but {} were given", in_tree, given)
      .hint("get them by leaves() from a tree of the same structure");
}

void refuse_structure(const TreeKey& a, const TreeKey& b) {
  throw ValueError("map_leaves: the trees differ in structure: {}", explain_difference(a, b));
}

}  // namespace plait::trees
