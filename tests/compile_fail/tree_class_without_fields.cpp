// expect: a static field of a tree must have std::hash and ==
#include "plait/core/trees/tree.h"

struct Leaf {};
template <>
inline constexpr bool plait::is_tree_leaf<Leaf> = true;

// Its leaf would be passed over in silence.
class Layer {
 public:
  Layer() {}

 private:
  Leaf leaf_;
};
size_t count = plait::leaf_count(Layer());
