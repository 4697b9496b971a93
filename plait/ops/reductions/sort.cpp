#include "plait/ops/reductions/sort.h"

#include <array>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/operand.h"

namespace plait {

std::span<const std::string_view> enumerator_names(SearchSide) {
  static constexpr std::array<std::string_view, 2> kNames = {"left", "right"};
  return kNames;
}

namespace {

// ---- sort

void infer_sort(ir::Inference& in) {
  in.expect_array(0, in.primitive.takes);
  const auto& a = in.attributes_as<SortAttributes>();
  expect_axis(in, a.axis);
  in.give(in.operands[0].without_sharding());
  if (!a.values_only) in.give(in.operands[0].without_sharding().with_dtype(DType::i64));
}

// Tangents are permuted like the elements.
std::vector<Tensor> tangent_of_sort(const RuleContext& c, std::span<const Tensor> tangents) {
  const auto& a = c.attributes.as<SortAttributes>();
  if (!tangents[0]) return {Tensor(), Tensor()};
  if (!a.values_only) return {take_along_axis(tangents[0], c.result(1), a.axis), Tensor()};
  const Tensor order = argsort(c.operand(0), a.axis, a.descending);
  return {take_along_axis(tangents[0], order, a.axis)};
}

// ---- topk

void infer_topk(ir::Inference& in) {
  in.expect_array(0, in.primitive.takes);
  const auto& a = in.attributes_as<TopkAttributes>();
  expect_axis(in, a.axis);
  Shape shape = in.operands[0].shape();
  const Dim size = shape.at(a.axis);
  if (a.count.is_number() &&
      (a.count.number() < 0 || (size.is_number() && a.count.number() > size.number()))) {
    throw ValueError("{}: cannot select {} of the {} elements along axis {} of {}",
                     in.primitive.name, a.count, size, a.axis, in.operands[0].text())
        .at(in.location);
  }
  shape.set(a.axis, a.count);
  const ir::Type values = in.operands[0].without_sharding().with_shape(shape);
  in.give(values);
  in.give(values.with_dtype(DType::i64));
}

std::vector<Tensor> tangent_of_topk(const RuleContext& c, std::span<const Tensor> tangents) {
  if (!tangents[0]) return {Tensor(), Tensor()};
  return {take_along_axis(tangents[0], c.result(1), c.attributes.as<TopkAttributes>().axis),
          Tensor()};
}

// ---- searchsorted

void infer_search(ir::Inference& in) {
  for (size_t i = 0; i < 2; ++i) in.expect_array(i, in.primitive.takes);
  const ir::Type &sorted = in.operands[0], &values = in.operands[1];
  Shape aligned = sorted.shape();
  const bool same_rank = sorted.rank() == values.rank() && sorted.rank() > 0;
  if (same_rank) aligned.set(-1, values.shape().at(-1));
  if (!same_rank || !same(aligned, values.shape())) {
    throw ShapeError("{}: {} and {} must have the same sizes except in the last dimension",
                     in.primitive.name, sorted.text(), values.text())
        .at(in.location);
  }
  if (sorted.dtype() != values.dtype()) {
    in.fail("operands of different dtypes: {} and {}", sorted.text(), values.text());
  }
  in.give(values.without_sharding().with_dtype(DType::i64));
}

// ---- unique

void infer_unique(ir::Inference& in) {
  in.expect_array(0, in.primitive.takes);
  if (in.operands[0].rank() != 1) in.fail("expected a vector, not {}", in.operands[0].text());
  const ir::Type given = in.operands[0].without_sharding();
  const ir::Type places = given.with_dtype(DType::i64);
  const Shape different{in.new_size("different")};
  in.give(given.with_shape(different));
  in.give(places);
  in.give(places.with_shape(different));
  in.give(places.with_shape(different));
}

std::vector<Tensor> refuse_to_batch_unique(const ir::Attributes&, std::span<const Tensor>,
                                           const std::vector<bool>&) {
  throw ShapeError("unique: the number of unique elements would differ from sample to sample")
      .at(Location::of_caller())
      .hint("sort the samples, and compare each element with the one before it");
}

struct SortTable;
const SortTable& sort_ops();

struct SortTable {
  const ir::Primitive& sort = declare(
      {.primitive = {.name = "sort",
                     .summary = "The elements sorted along an axis (stable, NaN last), and the "
                                "indices of the elements.",
                     .oracle = "numpy.argsort",
                     .attributes = &ir::schema_of<SortAttributes>(),
                     .operands = ir::exactly(1),
                     .takes = kOrdered,
                     .infer = infer_sort},
       .rules = {.tangents = {Reads::operand(0) | Reads::result(1), tangent_of_sort},
                 .batching = {[](const auto& a, auto operands, const auto& batched) {
                   return batch_along<SortAttributes>(sort_ops().sort, a, operands, batched);
                 }}}});
  const ir::Primitive& topk = declare(
      {.primitive =
           {.name = "topk",
            .summary = "The largest or smallest elements along an axis, sorted, and their indices.",
            .oracle = "numpy.argsort",
            .attributes = &ir::schema_of<TopkAttributes>(),
            .operands = ir::exactly(1),
            .takes = kOrdered,
            .infer = infer_topk},
       .rules = {.tangents = {Reads::result(1), tangent_of_topk},
                 .batching = {[](const auto& a, auto operands, const auto& batched) {
                   return batch_along<TopkAttributes>(sort_ops().topk, a, operands, batched);
                 }}}});
  const ir::Primitive& search = declare(
      {.primitive = {.name = "searchsorted",
                     .summary =
                         "The indices at which values would be inserted to keep rows sorted.",
                     .oracle = "numpy.searchsorted",
                     .attributes = &ir::schema_of<SearchAttributes>(),
                     .operands = ir::exactly(2),
                     .takes = kOrdered,
                     .infer = infer_search},
       .rules = {.not_differentiable = "returns indices",
                 .batching = {[](const auto& a, auto operands, const auto& batched) {
                   return apply_all(sort_ops().search, all_batched(operands, batched), a);
                 }}}});
  const ir::Primitive& unique =
      declare({.primitive = {.name = "unique",
                             .summary = "The unique elements of a vector, sorted, with inverse "
                                        "indices, counts and first indices.",
                             .oracle = "numpy.unique",
                             .attributes = &ir::schema_of<UniqueAttributes>(),
                             .operands = ir::exactly(1),
                             .takes = kOrdered,
                             .infer = infer_unique},
               .rules = {.not_differentiable =
                             "a small change of the operand changes the number of elements",
                         .batching = {refuse_to_batch_unique}}});
};
const SortTable& sort_ops() {
  static const SortTable table;
  return table;
}

std::vector<Tensor> sorted(const Tensor& x, SortAttributes attributes) {
  attributes.axis = normal_axis(attributes.axis, x.rank());
  return apply_all(sort_ops().sort, {&x, 1}, ir::Attributes::of(attributes));
}

Unique unique_of(const Tensor& x, bool equal_nan = true) {
  const Tensor flat = flatten(x);
  const auto attributes = ir::Attributes::of(UniqueAttributes{equal_nan});
  std::vector<Tensor> found = apply_all(sort_ops().unique, {&flat, 1}, attributes);
  return {std::move(found[0]), reshape(found[1], x.shape()), std::move(found[2]),
          std::move(found[3])};
}

// Ranks of the slices x[i] in lexicographic order. Each element is replaced by its rank, then each
// pair of neighbours by the rank of the pair, until one number is left.
Tensor codes_of_rows(const Tensor& x, bool equal_nan) {
  const Dim count = x.shape(0);
  Dim width = 1;
  for (size_t i = 1; i < x.rank(); ++i) width = width * x.shape()[i];
  if (!width.is_number()) {
    throw ValueError("unique: the number of elements, {}, is not known", width)
        .at(Location::of_caller());
  }
  if (width.number() == 0) return full({count}, 0, DType::i64);
  Tensor codes = unique_of(reshape(x, {count, width}), equal_nan).inverse;
  for (int64_t left = width.number(); left > 1; left = (left + 1) / 2) {
    if (left % 2 != 0) codes = pad_zeros(codes, 1, 0, 1);
    const Tensor pairs = reshape(codes, {count, (left + 1) / 2, 2});
    const auto of = [&](int64_t i) { return squeeze(slice_axis(pairs, 2, i, 1), 2); };
    codes = unique_of(of(0) * (count * width) + of(1)).inverse;
  }
  return reshape(codes, {count});
}

void expect_place(std::string_view function, const Tensor& x, int64_t kth, int64_t axis) {
  const Dim size = x.shape(axis);
  if (!size.is_number() || (kth >= -size.number() && kth < size.number())) return;
  throw IndexError("{}: index {} is out of range for axis {} of {}", function, kth, axis,
                   x.type().text())
      .at(Location::of_caller());
}

}  // namespace

Tensor sort(const Tensor& x, int64_t axis, bool descending) {
  const Call call("sort", x);
  return sorted(x, {axis, descending, true})[0];
}

Tensor argsort(const Tensor& x, int64_t axis, bool descending) {
  const Call call("argsort", x);
  return sorted(x, {axis, descending})[1];
}

Ordered sort_with_indices(const Tensor& x, int64_t axis, bool descending) {
  const Call call("sort_with_indices", x);
  std::vector<Tensor> both = sorted(x, {axis, descending});
  return {std::move(both[0]), std::move(both[1])};
}

Ordered topk(const Tensor& x, Dim count, int64_t axis, bool largest) {
  const Call call("topk", x);
  const TopkAttributes attributes{normal_axis(axis, x.rank()), count, largest};
  std::vector<Tensor> both = apply_all(sort_ops().topk, {&x, 1}, ir::Attributes::of(attributes));
  return {std::move(both[0]), std::move(both[1])};
}

Tensor partition(const Tensor& x, int64_t kth, int64_t axis) {
  const Call call("partition", x);
  expect_place("partition", x, kth, axis);
  return sort(x, axis);
}

Tensor argpartition(const Tensor& x, int64_t kth, int64_t axis) {
  const Call call("argpartition", x);
  expect_place("argpartition", x, kth, axis);
  return argsort(x, axis);
}

Tensor searchsorted(const Tensor& sorted, const Tensor& values, SearchSide side) {
  const Call call("searchsorted", sorted, values);
  const DType dtype = common_dtype(sorted, values);
  const auto attributes = ir::Attributes::of(SearchAttributes{side});
  const Tensor rows = astype(sorted, dtype), wanted = astype(values, dtype);
  if (sorted.rank() != 1) return apply(sort_ops().search, {rows, wanted}, attributes);
  return reshape(apply(sort_ops().search, {rows, flatten(wanted)}, attributes), values.shape());
}

Tensor searchsorted(const Tensor& sorted, const Tensor& values, SearchSide side,
                    const Tensor& sorter) {
  const Call call("searchsorted", sorted, values, sorter);
  if (!is_integer(sorter.dtype())) {
    throw TypeError("searchsorted: the sorter is {}, not integers", sorter.type().text())
        .at(Location::of_caller());
  }
  bool fits = sorter.rank() == sorted.rank();
  for (size_t i = 0; fits && i < sorter.rank(); ++i) {
    fits = !differ(sorter.shape()[i], sorted.shape()[i]);
  }
  if (!fits) {
    throw ShapeError("searchsorted: the sizes of the sorter {} and of {} differ",
                     sorter.type().text(), sorted.type().text())
        .at(Location::of_caller());
  }
  return searchsorted(take_along_axis(sorted, sorter, -1), values, side);
}

Unique unique(const Tensor& x, std::optional<int64_t> axis, bool equal_nan) {
  const Call call("unique", x);
  if (!axis) return unique_of(x, equal_nan);
  const int64_t at = normal_axis(*axis, x.rank());
  Unique found = unique_of(codes_of_rows(moveaxis(x, at, 0), equal_nan));
  found.values = take(x, found.indices, at);
  return found;
}

const ir::Primitive& sort_primitive() { return sort_ops().sort; }
const ir::Primitive& topk_primitive() { return sort_ops().topk; }
const ir::Primitive& searchsorted_primitive() { return sort_ops().search; }
const ir::Primitive& unique_primitive() { return sort_ops().unique; }

void register_sort_ops() { sort_ops(); }

}  // namespace plait
