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

#include "python/bindings/bind.h"

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
      {{"matmul", matmul, "Matrices in the last two dimensions; a vector is one row or column."},
       {"outer", outer, "Each element of a vector times each of another."},
       {"dot", dot, "As NumPy's: over the last of a and the last but one of b, or its only one."},
       {"inner", inner, "Over the last dimension of both."},
       {"bmm", bmm, "Stacks of as many matrices."}},
      arg("a"), arg("b"));
  add_functions<Tensor(T, T, int64_t)>(
      m, {{"vecdot", vecdot, "Along the axis, of the conjugate of a."}}, arg("a"), arg("b"),
      arg("axis") = -1);
  add_functions<Tensor(T, T, const SummedAxes&)>(m,
                                                 {{"tensordot", tensordot_of,
                                                   "Over so many of the last dimensions of a and "
                                                   "the first of b, or over a pair of axes, or of "
                                                   "lists of them: those of a and those of b."}},
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
      {{"sort", ordered<sort>, "In order along the axis."},
       {"argsort", ordered<argsort>,
        "Where the elements are, in order; those alike as they stand."}},
      arg("x"), arg("axis") = -1, arg("descending") = false, arg("stable") = true);
  add_functions<Ordered(T, int64_t, bool)>(
      m, {{"sort_with_indices", sort_with_indices, "In order, and where each was."}}, arg("x"),
      arg("axis") = -1, arg("descending") = false);
  add_functions<Ordered(T, Dim, int64_t, bool)>(
      m, {{"topk", topk, "The `count` largest, or smallest, in order, and where each was."}},
      arg("x"), arg("count"), arg("axis") = -1, arg("largest") = true);
  add_functions<Tensor(T, int64_t, int64_t)>(
      m,
      {{"partition", partition, "None before the place kth is greater than what is there."},
       {"argpartition", argpartition, "Where the elements of partition are."}},
      arg("x"), arg("kth"), arg("axis") = -1);
  add_functions<Tensor(T, T, SearchSide, T)>(
      m,
      {{"searchsorted", searchsorted_of,
        "Where each of x2 would go so that x1, as it is or picked by the sorter, stays in order."}},
      arg("x1"), arg("x2"), arg("side") = "left", arg("sorter") = nb::none());
  add_functions<Unique(T, std::optional<int64_t>, bool)>(
      m,
      {{"unique", unique,
        "The different elements, or parts along an axis, in order; where each went, how often it "
        "is, and where the first is."}},
      arg("x"), arg("axis") = nb::none(), arg("equal_nan") = true);
}

void bind_sets(nb::module_& m) {
  add_functions<Tensor(O, O, bool)>(
      m, {{"isin", isin, "Whether each element of x is among those of `test`."}}, arg("x"),
      arg("test"), arg("invert") = false);
  add_functions<UniqueAll(T)>(
      m, {{"unique_all", unique_all, "The different elements in order; each NaN differs."}},
      arg("x"));
  add_functions<UniqueCounts(T)>(
      m, {{"unique_counts", unique_counts, "The different elements, and how often each is."}},
      arg("x"));
  add_functions<UniqueInverse(T)>(
      m, {{"unique_inverse", unique_inverse, "The different elements, and where each went."}},
      arg("x"));
  add_functions<Tensor(T)>(m, {{"unique_values", unique_values, "The different elements."}},
                           arg("x"));
}

void bind_groups(nb::module_& m) {
  add_functions<Tensor(T, T, std::optional<Dim>)>(
      m,
      {{"segment_sum", segment_sum, "The sum of the rows of each id."},
       {"segment_prod", segment_prod, "The product of the rows of each id."},
       {"segment_mean", segment_mean, "The mean of the rows of each id."},
       {"segment_max", segment_max, "The greatest of the rows of each id."},
       {"segment_min", segment_min, "The least of the rows of each id."}},
      arg("x"), arg("ids"), arg("num_classes") = nb::none());
  add_functions<Tensor(T, T, T)>(
      m, {{"ragged_dot", ragged_dot, "Each group of neighbouring rows times its own matrix."}},
      arg("rows"), arg("matrices"), arg("group_sizes"));
  add_functions<Tensor(T, T, T)>(
      m, {{"ragged_outer", ragged_outer, "For each group of rows the product of a.T and b."}},
      arg("a"), arg("b"), arg("group_sizes"));
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
        "Each element less the one before it, n times over, with others before and behind."}},
      arg("x"), arg("n") = 1, arg("axis") = -1, arg("prepend") = nb::none(),
      arg("append") = nb::none());
  add_functions<Tensor(T, std::optional<Dim>, T)>(
      m, {{"bincount", bincount, "How often each of 0 to length - 1 is there, or their weights."}},
      arg("x"), arg("length") = nb::none(), arg("weights") = nb::none());
  add_functions<Histogram(T, int64_t, double, double)>(
      m, {{"histogram", histogram, "How many lie in each of `bins` bins from low to high."}},
      arg("x"), arg("bins"), arg("low"), arg("high"));
  add_functions<Histogram(T, T)>(
      m, {{"histogram", histogram, "How many lie between neighbouring edges."}}, arg("x"),
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
                                 {{"interp", interp, "On the straight lines between the points."}},
                                 arg("x"), arg("places"), arg("values"));
  add_functions<Tensor(T, T, double, int64_t)>(
      m,
      {{"trapezoid", trapezoid_of, "The area below neighbours at these places, or a step apart."},
       {"cumulative_trapezoid", cumulative_trapezoid_of, "The area up to each neighbour."}},
      arg("y"), arg("places") = nb::none(), arg("step") = 1.0, arg("axis") = -1);
}

Tuple nonzero_of(T x) { return {nonzero(x)}; }

void bind_places(nb::module_& m) {
  add_functions<std::vector<Tensor>(T, const Shape&)>(
      m, {{"unravel_index", unravel_index, "Coordinates of places in row-major order."}},
      arg("indices"), arg("shape"));
  add_functions<Tensor(T, T, Place)>(
      m, {{"take", take, "x[..., indices, ...] along the axis, or of all elements."}}, arg("x"),
      arg("indices"), arg("axis") = nb::none());
  add_functions<Tensor(T, T, int64_t)>(
      m, {{"take_along_axis", take_along_axis, "Of each line what that line of `indices` names."}},
      arg("x"), arg("indices"), arg("axis") = -1);
  add_functions<Tensor(T, T, O, int64_t)>(
      m, {{"put_along_axis", put_along_axis, "x with the values where take_along_axis reads."}},
      arg("x"), arg("indices"), arg("values"), arg("axis") = -1);
  add_functions<Tuple(T)>(
      m, {{"nonzero", nonzero_of, "Where it is not 0: coordinates, a vector for each axis."}},
      arg("x"));
  add_functions<Tensor(T)>(m, {{"argwhere", argwhere, "Where it is not 0: a row for each."}},
                           arg("x"));
  add_functions<Tensor(T, int64_t, T)>(
      m, {{"gather", gather, "As PyTorch's: the index says where along the axis."}}, arg("x"),
      arg("axis"), arg("index"));
  add_functions<Tensor(T, int64_t, T, O)>(
      m,
      {{"scatter", scatter, "x with the source where gather reads."},
       {"scatter_add", scatter_add, "x with the source added where gather reads."}},
      arg("x"), arg("axis"), arg("index"), arg("source"));
  add_functions<Tensor(T, int64_t, T, O, ScatterReduction, bool)>(
      m,
      {{"scatter_reduce", scatter_reduce,
        "The sum, product, mean, maximum or minimum of what comes to each place."}},
      arg("x"), arg("axis"), arg("index"), arg("source"), arg("reduction"),
      arg("include_self") = true);
  add_functions<Tensor(T, int64_t, T, O, const Scalar&)>(
      m, {{"index_add", index_add, "x with factor * source added to the parts that are named."}},
      arg("x"), arg("axis"), arg("index"), arg("source"), arg("factor") = 1);
  add_functions<Tensor(T, T, O)>(
      m, {{"masked_fill", masked_fill, "x with the value where the mask holds."}}, arg("x"),
      arg("mask"), arg("value"));
  add_functions<Tensor(T, T)>(
      m, {{"masked_select", masked_select, "The elements where the mask holds."}}, arg("x"),
      arg("mask"));
  add_functions<Tensor(T, T, Place)>(
      m,
      {{"embedding", embedding,
        "Rows of the table `weight`; `padding_idx` leads no gradient to its row."}},
      arg("ids"), arg("weight"), arg("padding_idx") = nb::none());
  add_functions<Tensor(T, Dim, DType)>(
      m,
      {{"one_hot", one_hot, "1 at the place that each id names among `num_classes`, 0 elsewhere."}},
      arg("ids"), arg("num_classes"), arg("dtype") = nb::cast(PythonDType{DType::f32}));
  add_functions<Tensor(T, T, IntegerVector, const std::vector<Dim>&)>(
      m, {{"dynamic_slice", dynamic_slice, "The part of these sizes that begins at `starts`."}},
      arg("x"), arg("starts"), arg("axes"), arg("sizes"));
  add_functions<Tensor(T, T, T, IntegerVector)>(
      m, {{"slice_update", slice_update, "x with the part put where dynamic_slice reads."}},
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
