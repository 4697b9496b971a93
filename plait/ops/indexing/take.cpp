#include "plait/ops/indexing/take.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/indexing/scatter.h"
#include "plait/ops/inside/indexing/padding_row.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

void expect_integers(std::string_view function, const Tensor& indices) {
  if (is_integer(indices.dtype())) return;
  throw TypeError("{}: the indices are {}, not integers", function, indices.type().text())
      .at(Location::of_caller());
}

// 0, 1, 2, … along one axis of the shape, constant along the others.
Tensor count_along(const Shape& shape, size_t axis) {
  Shape line;
  for (size_t i = 0; i < shape.rank(); ++i) line.append(i == axis ? shape[i] : Dim(1));
  return broadcast_to(reshape(iota(shape[axis]), line), shape);
}

// Indices along one axis in the form of gather_rows: leading dimensions of equal size are batch
// dimensions, and along the other axes each index keeps its position.
struct AlongAxis {
  std::vector<Tensor> indices;
  GatherAttributes places;
};

AlongAxis along_axis(const Shape& x, const Tensor& index, size_t axis) {
  const Shape shape = index.shape();
  size_t batch = 0;
  while (batch < axis && same(shape[batch], x[batch])) ++batch;
  AlongAxis result;
  result.places.batch = static_cast<int64_t>(batch);
  for (size_t i = batch; i < x.rank(); ++i) {
    result.places.axes.push_back(static_cast<int64_t>(i));
    result.indices.push_back(i == axis ? index : count_along(shape, i));
  }
  return result;
}

// Checks PyTorch's conditions on the index.
AlongAxis within(std::string_view function, const Tensor& x, int64_t axis, const Tensor& index) {
  expect_integers(function, index);
  const Shape from = x.shape(), shape = index.shape();
  if (shape.rank() != from.rank()) {
    throw ShapeError("{}: the index {} and {} differ in rank", function, index.type().text(),
                     x.type().text())
        .at(Location::of_caller());
  }
  const size_t at = axis_of(axis, x.rank());
  for (size_t i = 0; i < shape.rank(); ++i) {
    const bool is_known = shape[i].is_number() && from[i].is_number();
    if (i == at || !is_known || shape[i].number() <= from[i].number()) continue;
    throw ShapeError("{}: dimension {} of the index {} is larger than that of {}", function, i,
                     index.type().text(), x.type().text())
        .at(Location::of_caller());
  }
  return along_axis(from, index, at);
}

// The part of the source that corresponds to the index.
Tensor cut_to(std::string_view function, const Tensor& source, const Shape& shape) {
  if (source.rank() != shape.rank()) return broadcast_to_shape(function, source, shape);
  Tensor cut = source;
  for (size_t i = 0; i < shape.rank(); ++i) {
    const Dim size = source.shape()[i];
    const bool is_larger =
        size.is_number() && shape[i].is_number() && size.number() > shape[i].number();
    if (is_larger) cut = slice_axis(cut, static_cast<int64_t>(i), 0, shape[i]);
  }
  return broadcast_to_shape(function, cut, shape);
}

Tensor combine_along(std::string_view function, Combine combine, const Tensor& x, int64_t axis,
                     const Tensor& index, const Operand& source) {
  const AlongAxis along = within(function, x, axis, index);
  const Tensor updates = cut_to(function, value_like(function, x, source), index.shape());
  return scatter_rows(combine, x, updates, along.indices, along.places);
}

Combine combine_of(ScatterReduction reduction) {
  switch (reduction) {
    case ScatterReduction::sum:
    case ScatterReduction::mean: return Combine::add;
    case ScatterReduction::product: return Combine::multiply;
    case ScatterReduction::maximum: return Combine::maximum;
    case ScatterReduction::minimum: return Combine::minimum;
  }
  return Combine::add;
}

std::vector<Index> behind_axes(size_t axes, Index index) {
  std::vector<Index> indices(axes, Slice{});
  indices.push_back(std::move(index));
  return indices;
}

// `count` indices from `start` on along an axis of `size`. A negative start counts from the end; if
// it is still negative, the indices are out of range.
Tensor places_from(const Tensor& start, Dim count, Dim size) {
  const Tensor given = astype(start, DType::i64);
  const Tensor from_front = where(given < 0, given + size, given);
  return where(from_front < 0, size, from_front) + iota(count);
}

// Indices of the slices. Axes between the given ones are indexed by all their indices, so that all
// index tensors are next to each other, and axes keep their order.
std::vector<Index> part_indices(std::string_view function, const Tensor& x, const Tensor& starts,
                                const std::vector<int64_t>& axes, const std::vector<Dim>& sizes) {
  expect_integers(function, starts);
  if (starts.rank() != 1 || !same(starts.shape(0), Dim(static_cast<int64_t>(axes.size()))) ||
      sizes.size() != axes.size()) {
    throw ShapeError("{}: {} axes and {} sizes, but starts {}", function, axes.size(), sizes.size(),
                     starts.type().text())
        .at(Location::of_caller());
  }
  for (const Dim size : sizes) {
    if (!size.is_number() || size.number() >= 0) continue;
    throw ValueError("{}: the size {} is negative", function, size).at(Location::of_caller());
  }
  std::vector<std::optional<Tensor>> places(x.rank());
  size_t first = x.rank(), last = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = axis_of(axes[i], x.rank());
    if (places[axis]) throw ValueError("{}: axis {} appears twice", function, axis);
    places[axis] = places_from(starts[static_cast<int64_t>(i)], sizes[i], x.shape()[axis]);
    first = std::min(first, axis);
    last = std::max(last, axis);
  }
  std::vector<Index> indices(std::min(first, x.rank()), Slice{});
  for (size_t axis = first; axis <= last && axis < x.rank(); ++axis) {
    Shape grid{-1};
    for (size_t i = axis; i < last; ++i) grid.append(1);
    const Tensor line = places[axis] ? *places[axis] : iota(x.shape()[axis]);
    indices.push_back(reshape(line, grid));
  }
  return indices;
}

}  // namespace

Tensor take(const Tensor& x, const Tensor& indices, std::optional<int64_t> axis) {
  const Call call("take", x, indices);
  expect_integers("take", indices);
  if (!axis) return flatten(x)[indices];
  return index(x, behind_axes(axis_of(*axis, x.rank()), indices));
}

Tensor take_along_axis(const Tensor& x, const Tensor& indices, int64_t axis) {
  const Call call("take_along_axis", x, indices);
  expect_integers("take_along_axis", indices);
  if (indices.rank() != x.rank()) {
    throw ShapeError("take_along_axis: the indices {} and {} differ in rank", indices.type().text(),
                     x.type().text())
        .at(Location::of_caller());
  }
  const size_t at = axis_of(axis, x.rank());
  Shape from = x.shape(), to = indices.shape();
  const Dim size = from[at], count = to[at];
  from.set(static_cast<int64_t>(at), 1);
  to.set(static_cast<int64_t>(at), 1);
  Shape common = common_shape("take_along_axis", from, to);
  common.set(static_cast<int64_t>(at), size);
  const Tensor all = broadcast_to(x, common);
  common.set(static_cast<int64_t>(at), count);
  const AlongAxis along = along_axis(all.shape(), broadcast_to(indices, common), at);
  return gather_rows(all, along.indices, along.places);
}

Tensor put_along_axis(const Tensor& x, const Tensor& indices, const Operand& values, int64_t axis) {
  const Call call("put_along_axis", x, indices, values);
  expect_integers("put_along_axis", indices);
  const size_t at = axis_of(axis, x.rank());
  Shape shape = x.shape();
  if (indices.rank() == x.rank()) shape.set(static_cast<int64_t>(at), indices.shape()[at]);
  const Tensor places = broadcast_to_shape("put_along_axis", indices, shape);
  const Tensor updates =
      broadcast_to_shape("put_along_axis", value_like("put_along_axis", x, values), shape);
  const AlongAxis along = along_axis(x.shape(), places, at);
  return scatter_rows(Combine::set, x, updates, along.indices, along.places);
}

std::vector<Tensor> unravel_index(const Tensor& indices, const Shape& shape) {
  const Call call("unravel_index", indices, shape);
  expect_integers("unravel_index", indices);
  const Tensor within = take(iota(shape.element_count()), indices);
  std::vector<Tensor> coordinates;
  Dim behind = 1;
  for (size_t axis = shape.rank(); axis-- > 0;) {
    coordinates.push_back(remainder(floor_divide(within, behind), shape[axis]));
    behind = behind * shape[axis];
  }
  std::ranges::reverse(coordinates);
  return coordinates;
}

std::vector<Tensor> nonzero(const Tensor& x) {
  const Call call("nonzero", x);
  if (x.rank() == 0) {
    throw ValueError("nonzero: {} has no axes", x.type().text())
        .at(Location::of_caller())
        .hint("compare it with 0");
  }
  const Tensor places = nonzero_places(x);
  std::vector<Tensor> vectors;
  for (size_t i = 0; i < x.rank(); ++i) vectors.push_back(places[i]);
  return vectors;
}

Tensor argwhere(const Tensor& x) {
  const Call call("argwhere", x);
  return matrix_transpose(nonzero_places(x));
}

Tensor gather(const Tensor& x, int64_t axis, const Tensor& index) {
  const Call call("gather", x, index);
  const AlongAxis along = within("gather", x, axis, index);
  return gather_rows(x, along.indices, along.places);
}

Tensor scatter(const Tensor& x, int64_t axis, const Tensor& index, const Operand& source) {
  const Call call("scatter", x, index, source);
  return combine_along("scatter", Combine::set, x, axis, index, source);
}

Tensor scatter_add(const Tensor& x, int64_t axis, const Tensor& index, const Operand& source) {
  const Call call("scatter_add", x, index, source);
  return combine_along("scatter_add", Combine::add, x, axis, index, source);
}

Tensor scatter_reduce(const Tensor& x, int64_t axis, const Tensor& index, const Operand& source,
                      ScatterReduction reduction, bool include_self) {
  const Call call("scatter_reduce", x, index, source);
  const bool is_mean = reduction == ScatterReduction::mean;
  if (is_mean && !is_inexact(x.dtype())) {
    throw TypeError("scatter_reduce: means of {} are not supported", x.type().text())
        .at(Location::of_caller())
        .hint("convert it: astype(x, DType::f32)");
  }
  const auto combine = [&](Combine how, const Tensor& to, const Operand& what) {
    return combine_along("scatter_reduce", how, to, axis, index, what);
  };
  Tensor self = x;
  if (!include_self) self = combine(Combine::set, x, neutral_of(combine_of(reduction), x.dtype()));
  const Tensor result = combine(combine_of(reduction), self, source);
  if (!is_mean) return result;
  Tensor counts = ones_like(x);
  if (!include_self) counts = combine(Combine::set, counts, 0);
  counts = combine(Combine::add, counts, 1);
  return result / where(counts == 0, 1, counts);
}

Tensor index_add(const Tensor& x, int64_t axis, const Tensor& index, const Operand& source,
                 const Scalar& factor) {
  const Call call("index_add", x, index, source);
  expect_integers("index_add", index);
  if (index.rank() != 1) {
    throw ShapeError("index_add: the index {} is not a vector", index.type().text())
        .at(Location::of_caller());
  }
  const Tensor value = value_like("index_add", x, source);
  const Tensor factor_like = value_like("index_add", x, factor);
  return IndexedTensor(x, behind_axes(axis_of(axis, x.rank()), index)).add(value * factor_like);
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, const Operand& value) {
  const Call call("masked_fill", x, mask, value);
  const Tensor where_to =
      broadcast_to_shape("masked_fill", astype(mask, DType::boolean), x.shape());
  return where(where_to,
               broadcast_to_shape("masked_fill", value_like("masked_fill", x, value), x.shape()),
               x);
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  const Call call("masked_select", x, mask);
  const std::vector<Tensor> both =
      broadcast_together("masked_select", {x, astype(mask, DType::boolean)});
  return both[0][both[1]];
}

Tensor is_padding_row(std::string_view function, const Tensor& ids, const Tensor& table,
                      int64_t padding) {
  const Dim count = table.shape(0), row = padding < 0 ? count + padding : Dim(padding);
  if (row.is_number() && count.is_number() &&
      (row.number() < 0 || row.number() >= count.number())) {
    throw IndexError("{}: the padding index {} is out of range for {}", function, padding,
                     table.type().text())
        .at(Location::of_caller());
  }
  const Tensor places = astype(ids, DType::i64);
  return (places == row) | (places == row - count);
}

Tensor embedding(const Tensor& ids, const Tensor& table, std::optional<int64_t> padding) {
  const Call call("embedding", ids, table);
  if (table.rank() == 0) {
    throw ShapeError("embedding: {} is not a table, a matrix", table.type().text())
        .at(Location::of_caller());
  }
  const Tensor rows = take(table, ids, 0);
  if (!padding) return rows;
  Shape shape = ids.shape();
  while (shape.rank() < rows.rank()) shape.append(1);
  return where(reshape(is_padding_row("embedding", ids, table, *padding), shape),
               stop_gradient(rows), rows);
}

Tensor one_hot(const Tensor& ids, Dim count, DType dtype) {
  const Call call("one_hot", ids);
  expect_integers("one_hot", ids);
  Shape shape = ids.shape();
  shape.append(count);
  const Tensor places = expand_dims(ids, -1);
  const AlongAxis along = along_axis(shape, places, ids.rank());
  return scatter_rows(Combine::set, zeros(shape, dtype), ones(places.shape(), dtype), along.indices,
                      along.places);
}

Tensor dynamic_slice(const Tensor& x, const Tensor& starts, const std::vector<int64_t>& axes,
                     const std::vector<Dim>& sizes) {
  const Call call("dynamic_slice", x, starts);
  return index(x, part_indices("dynamic_slice", x, starts, axes, sizes));
}

Tensor slice_update(const Tensor& x, const Tensor& part, const Tensor& starts,
                    const std::vector<int64_t>& axes) {
  const Call call("slice_update", x, part, starts);
  if (part.rank() != x.rank()) {
    throw ShapeError("slice_update: {} and {} differ in rank", part.type().text(), x.type().text())
        .at(Location::of_caller());
  }
  std::vector<Dim> sizes;
  for (const int64_t axis : axes) sizes.push_back(part.shape(axis));
  return IndexedTensor(x, part_indices("slice_update", x, starts, axes, sizes)).set(part);
}

}  // namespace plait
