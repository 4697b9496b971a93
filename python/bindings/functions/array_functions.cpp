// Products, sorting, counting, and indexing.
#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/curves.h"
#include "plait/ops/indexing/segment.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/products/products.h"
#include "plait/ops/reductions/sets.h"
#include "plait/ops/reductions/sort.h"
#include "plait/ops/reductions/statistics.h"

#include "python/bindings/functions/bind.h"

namespace plait::python {

template <>
inline constexpr std::array kChoices<ScatterReduction> = {
    std::string_view("sum"), std::string_view("product"), std::string_view("mean"),
    std::string_view("maximum"), std::string_view("minimum")};

// The axes of tensordot.
struct SummedAxes {
  int64_t count = 2;
  std::optional<std::vector<int64_t>> of_a;
  std::vector<int64_t> of_b;

  SummedAxes() {}  // NOLINT: must not be an aggregate, which would be a struct of options
};
std::string annotation(Of<SummedAxes>) {
  return "int | tuple[int | Sequence[int], int | Sequence[int]]";
}
void read(nb::handle given, SummedAxes& axes) {
  if (!is_sequence(given)) {
    axes.count = integer_from(given);
    return;
  }
  if (nb::len(given) != 2) throw ValueError("expected axes of a and axes of b");
  axes.of_a = integers_from(given[nb::int_(0)]);
  axes.of_b = integers_from(given[nb::int_(1)]);
}

namespace {

using nb::arg;
using T = const Tensor&;
using O = const Operand&;
using Place = std::optional<int64_t>;
using IntegerVector = const std::vector<int64_t>&;

Tensor tensordot_of(T a, T b, const SummedAxes& axes) {
  return axes.of_a ? tensordot(a, b, *axes.of_a, axes.of_b) : tensordot(a, b, axes.count);
}
Tensor einsum_of(const std::string& equation, const Rest& operands) {
  return einsum(equation, operands.tensors);
}

void bind_products(nb::module_& m) {
  add_functions<Tensor(T, T)>(
      m,
      {{"matmul", matmul,
        "The product of matrices in the last two dimensions; a vector counts as one row or "
        "column."},
       {"outer", outer, "The outer product: each element of a vector times each of the other."},
       {"dot", dot,
        "The dot product as in NumPy: over the last dimension of a and the last but one of b, or "
        "its only one."},
       {"inner", inner, "The sum of products over the last dimension of both."},
       {"bmm", bmm, "Batched products of matrices."}},
      arg("a"), arg("b"));
  add_functions<Tensor(T, T, int64_t)>(
      m, {{"vecdot", vecdot, "Dot products along the axis, with a conjugated."}}, arg("a"),
      arg("b"), arg("axis") = -1);
  add_functions<Tensor(T, T, const SummedAxes&)>(
      m,
      {{"tensordot", tensordot_of,
        "The sum of products over the last n dimensions of a and the first n of b, or over a pair "
        "of axes or of lists of axes: those of a and those of b."}},
      arg("a"), arg("b"), arg("axes") = 2);
  add_functions<Tensor(T, T, T, const AddedProduct&)>(
      m,
      {{"addmm", addmm, "beta * x + alpha * a @ b."},
       {"baddbmm", baddbmm, "beta * x + alpha * bmm(a, b)."}},
      arg("x"), arg("a"), arg("b"));
  add_functions<Tensor(const std::string&, const Rest&)>(
      m, {{"einsum", einsum_of, "Letters name dimensions: einsum('ij,jk->ik', a, b)."}},
      arg("equation"), arg("operands"));
}

// All sorts are stable.
template <Tensor (*order)(T, int64_t, bool)>
Tensor ordered(T x, int64_t axis, bool descending, bool) {
  return order(x, axis, descending);
}
Tensor searchsorted_of(T x1, T x2, SearchSide side, T sorter) {
  return sorter ? searchsorted(x1, x2, side, sorter) : searchsorted(x1, x2, side);
}

void bind_order(nb::module_& m) {
  add_functions<Tensor(T, int64_t, bool, bool)>(
      m,
      {{"sort", ordered<sort>, "Sorted along the axis."},
       {"argsort", ordered<argsort>, "The indices that sort along the axis; the sort is stable."}},
      arg("x"), arg("axis") = -1, arg("descending") = false, arg("stable") = true);
  add_functions<Ordered(T, int64_t, bool)>(
      m,
      {{"sort_with_indices", sort_with_indices,
        "Sorted along the axis, with the indices of the elements."}},
      arg("x"), arg("axis") = -1, arg("descending") = false);
  add_functions<Ordered(T, Dim, int64_t, bool)>(
      m, {{"topk", topk, "The `count` largest, or smallest, in order, with their indices."}},
      arg("x"), arg("count"), arg("axis") = -1, arg("largest") = true);
  add_functions<Tensor(T, int64_t, int64_t)>(
      m,
      {{"partition", partition,
        "Partially sorted: no element before index kth is greater than the one at kth."},
       {"argpartition", argpartition, "The indices of the elements of partition."}},
      arg("x"), arg("kth"), arg("axis") = -1);
  add_functions<Tensor(T, T, SearchSide, T)>(
      m,
      {{"searchsorted", searchsorted_of,
        "The indices at which the elements of x2 would be inserted to keep x1 (permuted by the "
        "sorter) sorted."}},
      arg("x1"), arg("x2"), arg("side") = "left", arg("sorter") = nb::none());
  add_functions<Unique(T, std::optional<int64_t>, bool)>(
      m,
      {{"unique", unique,
        "The unique elements, or slices along an axis, sorted; their inverse indices, counts and "
        "first indices."}},
      arg("x"), arg("axis") = nb::none(), arg("equal_nan") = true);
}

void bind_sets(nb::module_& m) {
  add_functions<Tensor(O, O, bool)>(
      m, {{"isin", isin, "True for each element of x that is among those of `test`."}}, arg("x"),
      arg("test"), arg("invert") = false);
  add_functions<UniqueAll(T)>(m,
                              {{"unique_all", unique_all,
                                "The unique elements, sorted, with first indices, inverse indices "
                                "and counts; each NaN is unique."}},
                              arg("x"));
  add_functions<UniqueCounts(T)>(
      m, {{"unique_counts", unique_counts, "The unique elements, and their counts."}}, arg("x"));
  add_functions<UniqueInverse(T)>(
      m, {{"unique_inverse", unique_inverse, "The unique elements, and the inverse indices."}},
      arg("x"));
  add_functions<Tensor(T)>(m, {{"unique_values", unique_values, "The unique elements, sorted."}},
                           arg("x"));
}

void bind_groups(nb::module_& m) {
  add_functions<Tensor(T, T, std::optional<Dim>)>(
      m,
      {{"segment_sum", segment_sum, "The sum of the rows of each id."},
       {"segment_prod", segment_prod, "The product of the rows of each id."},
       {"segment_mean", segment_mean, "The mean of the rows of each id."},
       {"segment_max", segment_max, "The maximum of the rows of each id."},
       {"segment_min", segment_min, "The minimum of the rows of each id."}},
      arg("x"), arg("ids"), arg("num_classes") = nb::none());
  add_functions<Tensor(T, T, T)>(
      m, {{"ragged_dot", ragged_dot, "Each group of consecutive rows times its own matrix."}},
      arg("rows"), arg("matrices"), arg("group_sizes"));
  add_functions<Tensor(T, T, T)>(
      m, {{"ragged_outer", ragged_outer, "For each group of rows the product a.T @ b."}}, arg("a"),
      arg("b"), arg("group_sizes"));
}

Tensor diff_of(T x, int64_t n, int64_t axis, T before, T behind) {
  std::vector<Tensor> parts;
  if (before) parts.push_back(before);
  parts.push_back(x);
  if (behind) parts.push_back(behind);
  return diff(parts.size() == 1 ? x : concat(parts, axis), n, axis);
}

void bind_counts(nb::module_& m) {
  add_functions<Tensor(T, int64_t, int64_t, T, T)>(
      m,
      {{"diff", diff_of,
        "The n-th differences of neighbouring elements, with elements prepended and appended."}},
      arg("x"), arg("n") = 1, arg("axis") = -1, arg("prepend") = nb::none(),
      arg("append") = nb::none());
  add_functions<Tensor(T, std::optional<Dim>, T)>(
      m,
      {{"bincount", bincount,
        "The number of occurrences of each of 0 to length - 1, or the sum of their weights."}},
      arg("x"), arg("length") = nb::none(), arg("weights") = nb::none());
  add_functions<Histogram(T, int64_t, double, double)>(
      m,
      {{"histogram", histogram,
        "The number of elements in each of `bins` equal bins from low to high."}},
      arg("x"), arg("bins"), arg("low"), arg("high"));
  add_functions<Histogram(T, T)>(
      m, {{"histogram", histogram, "The number of elements between neighbouring edges."}}, arg("x"),
      arg("edges"));
}

Tensor trapezoid_of(T y, T places, double step, int64_t axis) {
  return places ? trapezoid(y, places, axis) : trapezoid(y, step, axis);
}
Tensor cumulative_trapezoid_of(T y, T places, double step, int64_t axis) {
  return places ? cumulative_trapezoid(y, places, axis) : cumulative_trapezoid(y, step, axis);
}

void bind_curves(nb::module_& m) {
  add_functions<Tensor(T, T, T)>(m,
                                 {{"interp", interp, "Linear interpolation between the points."}},
                                 arg("x"), arg("places"), arg("values"));
  add_functions<Tensor(T, T, double, int64_t)>(
      m,
      {{"trapezoid", trapezoid_of,
        "The integral by the trapezoidal rule, at these positions, or a step apart."},
       {"cumulative_trapezoid", cumulative_trapezoid_of,
        "The cumulative integral by the trapezoidal rule."}},
      arg("y"), arg("places") = nb::none(), arg("step") = 1.0, arg("axis") = -1);
}

Tuple nonzero_of(T x) { return {nonzero(x)}; }

void bind_places(nb::module_& m) {
  add_functions<std::vector<Tensor>(T, const Shape&)>(
      m, {{"unravel_index", unravel_index, "Coordinates of flat indices in row-major order."}},
      arg("indices"), arg("shape"));
  add_functions<Tensor(T, T, Place)>(
      m, {{"take", take, "x[..., indices, ...] along the axis, or of the flattened tensor."}},
      arg("x"), arg("indices"), arg("axis") = nb::none());
  add_functions<Tensor(T, T, int64_t)>(
      m,
      {{"take_along_axis", take_along_axis,
        "Selects elements of each line along the axis by the corresponding line of `indices`."}},
      arg("x"), arg("indices"), arg("axis") = -1);
  add_functions<Tensor(T, T, O, int64_t)>(
      m,
      {{"put_along_axis", put_along_axis,
        "x with the values written where take_along_axis reads."}},
      arg("x"), arg("indices"), arg("values"), arg("axis") = -1);
  add_functions<Tuple(T)>(
      m, {{"nonzero", nonzero_of, "The indices of nonzero elements: one vector for each axis."}},
      arg("x"));
  add_functions<Tensor(T)>(
      m, {{"argwhere", argwhere, "The indices of nonzero elements: one row for each element."}},
      arg("x"));
  add_functions<Tensor(T, int64_t, T)>(
      m, {{"gather", gather, "Selects elements along the axis by an index tensor, as in PyTorch."}},
      arg("x"), arg("axis"), arg("index"));
  add_functions<Tensor(T, int64_t, T, O)>(
      m,
      {{"scatter", scatter, "x with the source written where gather reads."},
       {"scatter_add", scatter_add, "x with the source added where gather reads."}},
      arg("x"), arg("axis"), arg("index"), arg("source"));
  add_functions<Tensor(T, int64_t, T, O, ScatterReduction, bool)>(
      m,
      {{"scatter_reduce", scatter_reduce,
        "x with the sum, product, mean, maximum or minimum of the source elements of each "
        "position."}},
      arg("x"), arg("axis"), arg("index"), arg("source"), arg("reduction"),
      arg("include_self") = true);
  add_functions<Tensor(T, int64_t, T, O, const Scalar&)>(
      m, {{"index_add", index_add, "x with factor * source added to the slices at the indices."}},
      arg("x"), arg("axis"), arg("index"), arg("source"), arg("factor") = 1);
  add_functions<Tensor(T, T, O)>(
      m, {{"masked_fill", masked_fill, "x with the value where the mask is true."}}, arg("x"),
      arg("mask"), arg("value"));
  add_functions<Tensor(T, T)>(
      m, {{"masked_select", masked_select, "The elements where the mask is true."}}, arg("x"),
      arg("mask"));
  add_functions<Tensor(T, T, Place)>(
      m,
      {{"embedding", embedding,
        "Rows of the table `weight`, selected by ids; the row `padding_idx` gets no gradient."}},
      arg("ids"), arg("weight"), arg("padding_idx") = nb::none());
  add_functions<Tensor(T, Dim, DType)>(
      m,
      {{"one_hot", one_hot, "One-hot vectors of length `num_classes`: 1 at the id, 0 elsewhere."}},
      arg("ids"), arg("num_classes"), arg("dtype") = nb::cast(PythonDType{DType::f32}));
  add_functions<Tensor(T, T, IntegerVector, const std::vector<Dim>&)>(
      m, {{"dynamic_slice", dynamic_slice, "The slice of these sizes that begins at `starts`."}},
      arg("x"), arg("starts"), arg("axes"), arg("sizes"));
  add_functions<Tensor(T, T, T, IntegerVector)>(
      m, {{"slice_update", slice_update, "x with the slice written where dynamic_slice reads."}},
      arg("x"), arg("part"), arg("starts"), arg("axes"));
}

}  // namespace

void bind_array_functions(nb::module_& module) {
  bind_products(module);
  bind_order(module);
  bind_sets(module);
  bind_counts(module);
  bind_groups(module);
  bind_curves(module);
  bind_places(module);
}

}  // namespace plait::python
