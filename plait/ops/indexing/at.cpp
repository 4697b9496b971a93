#include "plait/ops/indexing/at.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/update_slice.h"
#include "plait/ops/inside/indexing/index_plan.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/tracing/trace.h"

namespace plait {
namespace {

ScalarKind kind_of_numbers(DType dtype) {
  switch (kind_of(dtype)) {
    case DTypeKind::boolean: return ScalarKind::boolean;
    case DTypeKind::integer: return ScalarKind::integer;
    case DTypeKind::floating: return ScalarKind::floating;
    default: return ScalarKind::complex;
  }
}

// True if the sizes are equal, or are assumed to be in the current trace.
bool are_equal(const Shape& a, const Shape& b) {
  if (same(a, b)) return true;
  if (a.rank() != b.rank() || Trace::current() == nullptr) return false;
  const SizeFacts& facts = Trace::current()->sizes().facts();
  for (size_t i = 0; i < a.rank(); ++i) {
    if (!same(a[i], b[i]) && facts.prove({a[i], SizeFact::equal, b[i]}) != true) return false;
  }
  return true;
}

Tensor combine_two(Combine combine, const Tensor& x, const Tensor& value) {
  switch (combine) {
    case Combine::set: return value;
    case Combine::add: return add(x, value);
    case Combine::multiply: return multiply(x, value);
    case Combine::minimum: return minimum(x, value);
    case Combine::maximum: return maximum(x, value);
  }
  return value;
}

// The value with a size of 1 for each axis of the mask. Empty if the value has different elements
// for those of the mask, because then their number must be known.
std::optional<Tensor> beside(const LoneMask& lone, const Tensor& x, const Tensor& value) {
  const size_t behind = x.rank() - lone.axis - lone.mask.rank();
  if (value.rank() <= behind) return value;
  const Shape given = value.shape();
  const size_t place = value.rank() - behind - 1;
  if (!same(given[place], Dim(1))) return std::nullopt;
  Shape shape(given.dims().first(place));
  for (size_t i = 0; i < lone.mask.rank(); ++i) shape.append(1);
  for (const Dim dim : given.dims().subspan(place + 1)) shape.append(dim);
  return reshape(value, shape);
}

Shape with_ones_behind(Shape shape, size_t count) {
  for (size_t i = 0; i < count; ++i) shape.append(1);
  return shape;
}

// True where an index is in range for an axis of `size`.
Tensor is_inside(const Tensor& integers, Dim size) {
  if (!is_signed(integers.dtype())) {
    // Compared as u64, which holds all unsigned integers.
    return less(astype(integers, DType::u64), astype(scalar_tensor(size, DType::i64), DType::u64));
  }
  const Tensor places = astype(integers, DType::i64);
  return greater_equal(places, -size) & less(places, size);
}

// Calls `compute` with x reshaped, and reshapes the result back. x is donated; if an error is
// thrown, it is restored.
template <class Compute>
Tensor reshaped_meanwhile(Tensor& x, const Shape& shape, Compute compute) {
  const Shape own = x.shape();
  if (same(own, shape)) return compute(x);
  Tensor other = reshape(x, shape);
  x = Tensor();
  try {
    return reshape(compute(other), own);
  } catch (...) {
    x = reshape(other, own);
    throw;
  }
}

Tensor change_slice(Combine combine, Tensor& x, const IndexPlan& plan, const Tensor& value) {
  Tensor part = broadcast_to_shape("at", value, plan.result);
  if (combine != Combine::set) part = combine_two(combine, view_of(x, plan), part);
  part = reshape(part, plan.part());
  const bool replaces = plan.takes_all && part.device() == x.device();
  return replaces ? part : update_slice_into(x, part, plan.ranges);
}

Tensor change_rows(Combine combine, Tensor& x, const IndexPlan& plan, const Tensor& value) {
  const Tensor updates = broadcast_to_shape("at", value, plan.result);
  const auto change = [&](Tensor& view) {
    return scatter_rows_into(combine, view, updates, plan.indices, plan.places);
  };
  if (plan.takes_all) return reshaped_meanwhile(x, plan.view, change);
  Tensor view = view_of(x, plan);
  return update_slice_into(x, reshape(change(view), plan.part()), plan.ranges);
}

Tensor change_masked(Combine combine, Tensor& x, const LoneMask& lone, const Tensor& value) {
  const size_t behind = x.rank() - lone.axis - lone.mask.rank();
  const Tensor mask = reshape(lone.mask, with_ones_behind(lone.mask.shape(), behind));
  const Tensor changed = combine_two(combine, x, broadcast_to_shape("at", value, x.shape()));
  return apply_donating(select_primitive(), {broadcast_to(mask, x.shape()), changed, Tensor()}, x,
                        2);
}

}  // namespace

Tensor value_like(std::string_view function, const Tensor& x, const Operand& value) {
  const DType to = x.dtype();
  if (value.is_tensor() && value.tensor().dtype() == to) return value.tensor();
  const bool has_key = is_key(to) || (value.is_tensor() && is_key(value.tensor().dtype()));
  const ScalarKind kind = has_key             ? ScalarKind::complex
                          : value.is_tensor() ? kind_of_numbers(value.tensor().dtype())
                                              : value.scalar().kind();
  if (!has_key && kind <= kind_of_numbers(to)) return value.as(to);
  const std::string given = value.is_tensor() ? value.tensor().type().text() : "the given number";
  throw TypeError("{}: {} does not fit into {}, which stays {}", function, given, x.type().text(),
                  name_of(to))
      .at(Location::of_caller())
      .hint("astype converts either of them");
}

Tensor broadcast_to_shape(std::string_view function, const Tensor& value, const Shape& shape) {
  if (same(value.shape(), shape)) return value;
  if (!are_equal(common_shape(function, value.shape(), shape), shape)) {
    throw ShapeError("{}: {} cannot be broadcast to {}", function, value.shape().text(),
                     shape.text())
        .at(Location::of_caller());
  }
  return broadcast_to(value, shape);
}

Tensor IndexedTensor::change(Combine combine, const Operand& given) {
  Tensor& x = *x_;
  const Call call("at", x, given);
  const Tensor value = value_like("at", x, given);
  if (const auto lone = is_key(x.dtype()) ? std::nullopt : find_lone_mask(x, index_)) {
    if (const auto placed = beside(*lone, x, value)) {
      return change_masked(combine, x, *lone, *placed);
    }
  }
  const IndexPlan plan = plan_index(x, index_);
  return plan.has_tensors() ? change_rows(combine, x, plan, value)
                            : change_slice(combine, x, plan, value);
}

Tensor IndexedTensor::get() && { return index(*x_, index_); }

Tensor IndexedTensor::get(const Operand& missing) && {
  const Tensor& x = *x_;
  const Call call("at", x, missing);
  const Tensor value = value_like("at", x, missing);
  const IndexPlan plan =
      plan_index(x, index_, {.integers_as_tensors = true, .outside = Outside::ignored});
  const Tensor view = view_of(x, plan);
  const Tensor other = broadcast_to_shape("at", value, plan.result);
  if (!plan.has_tensors()) return view;
  const Tensor rows = gather_rows(view, plan.indices, plan.places);
  Tensor inside;
  for (size_t i = 0; i < plan.indices.size(); ++i) {
    const Tensor here = is_inside(plan.indices[i], plan.view.at(plan.places.axes[i]));
    inside = inside ? inside & here : here;
  }
  const size_t behind = rows.rank() - inside.rank();
  return where(reshape(inside, with_ones_behind(inside.shape(), behind)), rows, other);
}

Tensor IndexedTensor::set(const Operand& value) && { return change(Combine::set, value); }
Tensor IndexedTensor::add(const Operand& value) && { return change(Combine::add, value); }
Tensor IndexedTensor::multiply(const Operand& value) && { return change(Combine::multiply, value); }
Tensor IndexedTensor::min(const Operand& value) && { return change(Combine::minimum, value); }
Tensor IndexedTensor::max(const Operand& value) && { return change(Combine::maximum, value); }

IndexedTensor Tensor::at(const Index& given) const& {
  return IndexedTensor(*this, std::vector<Index>{given});
}
IndexedTensor Tensor::at(const Index& given) && {
  return IndexedTensor(std::move(*this), std::vector<Index>{given});
}
IndexedTensor Tensor::at(std::initializer_list<Index> given) const& {
  return IndexedTensor(*this, std::vector<Index>(given));
}
IndexedTensor Tensor::at(std::initializer_list<Index> given) && {
  return IndexedTensor(std::move(*this), std::vector<Index>(given));
}

}  // namespace plait
