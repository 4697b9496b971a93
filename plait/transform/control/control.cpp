// Control flow that is not a form. Each form is in its folder below inside/forms.
#include "plait/transform/control/control.h"

#include "plait/ops/arrays/create.h"
#include "plait/ops/elementwise/elementwise.h"

namespace plait {

Tensor holds(const SizeFact& fact) {
  const Tensor left = full({}, fact.left, DType::i64), right = full({}, fact.right, DType::i64);
  switch (fact.relation) {
    case SizeFact::equal: return equal(left, right);
    case SizeFact::not_equal: return not_equal(left, right);
    case SizeFact::less_equal: return less_equal(left, right);
    case SizeFact::less: break;
  }
  return less(left, right);
}

namespace control {

Tensor numbers(Dim first, Dim end) { return iota(end - first) + first; }

}  // namespace control
}  // namespace plait
