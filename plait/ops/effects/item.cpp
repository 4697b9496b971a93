#include "plait/ops/effects/item.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"

namespace plait {

Item Tensor::item() const {
  const Call call("item", *this);
  const Shape sizes = shape();
  if (sizes.is_static() && !same(sizes.element_count(), 1)) {
    throw ShapeError("one element is wanted, and there are {}", sizes.element_count())
        .hint("take one by its index, or text() to look at all");
  }
  return Item(sizes.rank() == 0 ? *this : reshape(*this, Shape()));
}

}  // namespace plait
