#include "plait/ops/inside/indexing/index_plan.h"

#include <algorithm>
#include <limits>

#include "plait/core/error.h"
#include "plait/core/sizes/size_facts.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/operand.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/tracing/trace.h"

namespace plait {
namespace {

bool is_mask(const Index& index) {
  const auto* tensor = std::get_if<Tensor>(&index.choice());
  return std::holds_alternative<bool>(index.choice()) ||
         (tensor != nullptr && is_boolean(tensor->dtype()));
}

template <class T>
bool is(const Index& index) {
  return std::holds_alternative<T>(index.choice());
}

// The number of axes of x that an index covers, not counting the ellipsis.
size_t axes_of(const Index& index) {
  if (is<Dim>(index) || is<SymbolicSlice>(index)) return 1;
  const auto* tensor = std::get_if<Tensor>(&index.choice());
  if (tensor == nullptr) return 0;
  if (is_boolean(tensor->dtype())) return tensor->rank();
  if (is_integer(tensor->dtype())) return 1;
  throw TypeError("index: a {} is not an index", tensor->type().text())
      .at(Location::of_caller())
      .hint("tensors of integers select elements by index, tensors of bool by a mask");
}

// The number of axes that the ellipsis covers; without one, those at the end.
size_t axes_of_ellipsis(const Tensor& x, std::span<const Index> indices) {
  size_t named = 0;
  for (const Index& index : indices) named += axes_of(index);
  if (named > x.rank()) {
    throw IndexError("index: {} axes are indexed, but {} has {}", named, x.type().text(), x.rank())
        .at(Location::of_caller());
  }
  if (std::ranges::count_if(indices, is<Ellipsis>) > 1) {
    throw IndexError("index: more than one ellipsis").at(Location::of_caller());
  }
  return x.rank() - named;
}

bool are_equal(Dim a, Dim b) {
  if (same(a, b)) return true;
  if (a.is_number() && b.is_number()) return false;
  SizeContext no_trace;
  SizeContext& context = Trace::current() ? Trace::current()->sizes() : no_trace;
  return context.decide({a, SizeFact::equal, b});
}

// True if a bound counts from the end, because it is negative. For a symbolic bound of unknown
// value one case is assumed, and checked on entry: negative if it cannot be positive.
bool counts_from_end(Dim place) {
  if (place.is_number()) return place.number() < 0;
  Trace* const trace = Trace::current();
  const SizeFacts facts = trace == nullptr ? SizeFacts() : trace->sizes().facts();
  return facts.prove(place <= Dim(0)) == true ? sizes_hold(place <= Dim(-1))
                                              : !sizes_hold(place >= Dim(0));
}

// A bound of a slice, as a nonnegative index clamped to the axis.
Dim bound(const std::optional<Dim>& given, Dim size, Dim standard, Dim least, Dim most) {
  if (!given) return standard;
  return max(min(counts_from_end(*given) ? size + *given : *given, most), least);
}

SliceRange range_of(const SymbolicSlice& slice, Dim size) {
  const int64_t step = slice.step;
  if (step == 0) throw ValueError("index: the step of a slice is 0").at(Location::of_caller());
  const Dim least = step > 0 ? 0 : -1, most = step > 0 ? size : size - 1;
  const Dim start = bound(slice.start, size, step > 0 ? least : most, least, most);
  const Dim stop = bound(slice.stop, size, step > 0 ? most : least, least, most);
  const Dim distance = step > 0 ? stop - start : start - stop;
  const Dim stride = step > 0 ? Dim(step) : -Dim(step);
  const Dim steps = floor_div(distance + (stride - 1), stride);
  const Dim count = slice.start || slice.stop ? max(steps, Dim(0)) : steps;
  if (same(count, Dim(0))) return {0, 0, 1};
  return {start, count, same(count, Dim(1)) ? 1 : step};
}

class Planner {
 public:
  Planner(const Tensor& x, std::span<const Index> indices, const PlanOptions& options)
      : x_(x), indices_(indices), options_(options) {}

  IndexPlan run() {
    const size_t left = axes_of_ellipsis(x_, indices_);
    const auto names_rows = [&](const Index& index) {
      return is_mask(index) || is<Tensor>(index) ||
             (options_.integers_as_tensors && is<Dim>(index));
    };
    has_tensors_ = std::ranges::any_of(indices_, names_rows);
    only_masks_ = std::ranges::all_of(indices_, [](const Index& index) {
      return is_mask(index) || !(is<Dim>(index) || is<Tensor>(index));
    });
    for (const Index& index : indices_) {
      if (is<Ellipsis>(index))
        take_all(left);
      else
        read(index);
    }
    take_all(x_.rank() - axis_);
    if (has_tensors_) place_tensors();
    if (!has_tensors_) plan_.result = plan_.view;
    return std::move(plan_);
  }

 private:
  void read(const Index& index) {
    if (const auto* number = std::get_if<Dim>(&index.choice())) return read_number(*number);
    if (const auto* truth = std::get_if<bool>(&index.choice())) {
      return add_mask(full({*truth ? 1 : 0}, 0, DType::i64));
    }
    if (const auto* slice = std::get_if<SymbolicSlice>(&index.choice())) {
      const Dim size = x_.shape(static_cast<int64_t>(axis_));
      add_view(range_of(*slice, size));
      return;
    }
    if (is<NewAxis>(index)) {
      leave_tensors();
      plan_.view.append(1);
      return;
    }
    const Tensor& tensor = std::get<Tensor>(index.choice());
    if (is_boolean(tensor.dtype())) return read_mask(tensor);
    add_tensor(tensor);
  }

  void read_number(Dim number) {
    const Dim size = x_.shape(static_cast<int64_t>(axis_));
    const SliceRange range{counts_from_end(number) ? size + number : number, 1, 1};
    // Also if the index tensors next to it are empty.
    if (range.is_outside(size) && options_.outside == Outside::fails) {
      throw IndexError("index: {} is out of range for axis {} of {}, whose size is {}", number,
                       axis_, x_.type().text(), size)
          .at(Location::of_caller());
    }
    if (has_tensors_) return add_tensor(scalar_tensor(number, DType::i64));
    plan_.ranges.push_back(range);
    plan_.takes_all = plan_.takes_all && range.is_whole(size);
    ++axis_;
  }

  void add_view(const SliceRange& range) {
    leave_tensors();
    const Dim size = x_.shape(static_cast<int64_t>(axis_++));
    plan_.takes_all = plan_.takes_all && range.is_whole(size);
    plan_.ranges.push_back(range);
    plan_.view.append(range.count);
  }

  void take_all(size_t axes) {
    leave_tensors();
    for (; axes > 0; --axes) add_view({0, x_.shape(static_cast<int64_t>(axis_)), 1});
  }

  // A mask is converted to the indices of its true elements, one tensor per axis.
  void read_mask(const Tensor& mask) {
    for (size_t i = 0; i < mask.rank(); ++i) {
      const Dim size = x_.shape(static_cast<int64_t>(axis_ + i)), given = mask.shape()[i];
      // A mask size of 0 fits any axis, since it selects nothing.
      if (are_equal(size, given) || are_equal(given, 0)) continue;
      throw IndexError("index: the mask {} does not match axis {} of {}: its size is {}, not {}",
                       mask.type().text(), axis_ + i, x_.type().text(), given, size)
          .at(Location::of_caller());
    }
    const Tensor places = nonzero_places(mask);
    if (mask.rank() == 0) return add_mask(full({places.shape(1)}, 0, DType::i64));
    for (size_t i = 0; i < mask.rank(); ++i) {
      add_tensor(squeeze(slice_axis(places, 0, static_cast<int64_t>(i), 1), 0));
    }
  }

  // A mask without axes: selects the only element of a new axis, or nothing.
  void add_mask(const Tensor& places) {
    note_tensor();
    plan_.places.axes.push_back(static_cast<int64_t>(plan_.view.rank()));
    plan_.view.append(1);
    plan_.indices.push_back(places);
  }

  void add_tensor(const Tensor& integers) {
    note_tensor();
    const Dim size = x_.shape(static_cast<int64_t>(axis_++));
    plan_.ranges.push_back({0, size, 1});
    plan_.places.axes.push_back(static_cast<int64_t>(plan_.view.rank()));
    plan_.view.append(size);
    plan_.indices.push_back(indices_beside(x_, integers));
  }

  void note_tensor() {
    are_apart_ = are_apart_ || (left_tensors_ && !plan_.indices.empty());
    left_tensors_ = false;
  }
  void leave_tensors() { left_tensors_ = true; }

  void place_tensors() {
    std::vector<Tensor>& indices = plan_.indices;
    const auto is_like_first = [&](const Tensor& t) { return t.dtype() == indices[0].dtype(); };
    if (!std::ranges::all_of(indices, is_like_first)) {
      for (Tensor& tensor : indices) tensor = as_i64(tensor);
    }
    plan_.points = common_shape("index", indices);
    // If the index tensors are adjacent, the axes before them are batch dimensions.
    plan_.places.batch = are_apart_ ? 0 : plan_.places.axes[0];
    plan_.places.outside = only_masks_ ? Outside::ignored : options_.outside;
    plan_.places.unique = only_masks_;  // a mask selects each element once
    Shape all(plan_.view.dims().first(static_cast<size_t>(plan_.places.batch)));
    for (const Dim dim : plan_.points) all.append(dim);
    for (Tensor& tensor : indices) tensor = broadcast_to(tensor, all);
    plan_.result = all;
    for (auto axis = plan_.places.batch; axis < static_cast<int64_t>(plan_.view.rank()); ++axis) {
      if (!std::ranges::binary_search(plan_.places.axes, axis)) {
        plan_.result.append(plan_.view.at(axis));
      }
    }
  }

  // Integers above the range of i64 are out of range, and so is the greatest i64.
  static Tensor as_i64(const Tensor& integers);

  const Tensor& x_;
  std::span<const Index> indices_;
  PlanOptions options_;
  IndexPlan plan_;
  size_t axis_ = 0;  // next axis of x
  bool has_tensors_ = false;
  bool only_masks_ = false;
  bool left_tensors_ = false;  // true if another index followed the last tensor
  bool are_apart_ = false;
};

Tensor Planner::as_i64(const Tensor& integers) {
  if (integers.dtype() != DType::u64) return astype(integers, DType::i64);
  const Scalar most = std::numeric_limits<int64_t>::max();
  return astype(minimum(integers, most), DType::i64);
}

}  // namespace

Shape IndexPlan::part() const {
  Shape shape;
  for (const SliceRange& range : ranges) shape.append(range.count);
  return shape;
}

IndexPlan plan_index(const Tensor& x, std::span<const Index> indices, const PlanOptions& options) {
  return Planner(x, indices, options).run();
}

Tensor view_of(const Tensor& x, const IndexPlan& plan) {
  Tensor view = x;
  for (size_t axis = 0; axis < plan.ranges.size(); ++axis) {
    const SliceRange& range = plan.ranges[axis];
    if (range.is_whole(x.shape()[axis])) continue;
    view = slice_axis(view, static_cast<int64_t>(axis), range.start, range.count, range.step);
  }
  return reshape(view, plan.view);
}

std::optional<LoneMask> find_lone_mask(const Tensor& x, std::span<const Index> indices) {
  const size_t left = axes_of_ellipsis(x, indices);
  std::optional<LoneMask> found;
  size_t axis = 0;
  for (const Index& index : indices) {
    const auto* tensor = std::get_if<Tensor>(&index.choice());
    const auto* slice = std::get_if<SymbolicSlice>(&index.choice());
    if (tensor != nullptr) {
      if (found || !is_boolean(tensor->dtype()) || tensor->rank() == 0) return std::nullopt;
      found = LoneMask{indices_beside(x, *tensor), axis};
    } else if (slice != nullptr) {
      const Dim size = x.shape(static_cast<int64_t>(axis));
      if (!range_of(*slice, size).is_whole(size)) return std::nullopt;
    } else if (!is<Ellipsis>(index)) {
      return std::nullopt;
    }
    axis += is<Ellipsis>(index) ? left : axes_of(index);
  }
  if (!found) return std::nullopt;
  for (size_t i = 0; i < found->mask.rank(); ++i) {
    // A mask that does not fit is reported by plan_index.
    if (!same(found->mask.shape()[i], x.shape()[found->axis + i])) return std::nullopt;
  }
  return found;
}

}  // namespace plait
