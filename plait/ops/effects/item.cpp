#include "plait/ops/effects/item.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/tensor/inside/tracing/trace_scopes.h"

namespace plait {

namespace {

// Reshapes to rank 0. ShapeError unless the tensor has one element.
Tensor one_element_of(const Tensor& x) {
  const Shape sizes = x.shape();
  if (sizes.is_static() && !same(sizes.element_count(), 1)) {
    throw ShapeError("expected one element, not {}", sizes.element_count())
        .hint("select one by its index, or use text() to see all");
  }
  return sizes.rank() == 0 ? x : reshape(x, Shape());
}

}  // namespace

Item Tensor::item() const {
  const Call call("item", *this);
  return Item(one_element_of(*this));
}

bool Tensor::truth() const {
  if (!is_traced()) return item<bool>();
  Trace& trace = knowing_trace();
  const Trace::Instead there(&trace);
  const Tensor one = one_element_of(*this);
  return trace.decide(is_boolean(one.dtype()) ? one : not_equal(one, 0));
}

}  // namespace plait
