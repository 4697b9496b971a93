// Functions of shapes and reductions.
#include <algorithm>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/matrix_parts.h"
#include "plait/ops/arrays/pad.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reinterpret.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/neural/unfold.h"
#include "plait/ops/operand.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/scan.h"
#include "plait/ops/reductions/statistics.h"

#include "python/bindings/bind.h"

namespace plait::python {

template <>
inline constexpr std::array kChoices<PadMode> = {
    std::string_view("constant"), std::string_view("edge"), std::string_view("reflect"),
    std::string_view("wrap")};

// How often each element is repeated: a number, or one for each.
struct Repeats {
  Dim count = 0;
  Tensor counts;

  Repeats() {}  // NOLINT: no plain aggregate, which would be options
};
std::string annotation(Of<Repeats>) { return "ArrayLike"; }
void read(nb::handle given, Repeats& repeats) {
  if (nb::isinstance<Tensor>(given) || nb::hasattr(given, "__array_interface__")) {
    repeats.counts = tensor_from(given);
  } else {
    repeats.count = dim_from(given);
  }
}

namespace {

using nb::arg;
using T = const Tensor&;
using O = const Operand&;
using Tensors = std::vector<Tensor>;
using TensorSpan = std::span<const Tensor>;
using IntegerSpan = std::span<const int64_t>;
using Place = std::optional<int64_t>;

// In the dtype if one is given.
using Into = std::optional<DType>;
template <Tensor (*reduce)(T, const Axes&, bool)>
Tensor reduced_into(T x, const Axes& axes, bool keepdims, Into dtype) {
  const Tensor result = reduce(dtype ? astype(x, *dtype) : x, axes, keepdims);
  return dtype ? astype(result, *dtype) : result;
}

template <Tensor (*accumulate)(T, int64_t, bool)>
Tensor accumulated(T x, Place axis, bool reverse) {
  return axis ? accumulate(x, *axis, reverse) : accumulate(flatten(x), 0, reverse);
}

void bind_reductions(nb::module_& m) {
  add_functions<Tensor(T, const Axes&, bool, Into)>(
      m,
      {{"sum", reduced_into<sum>, "The sum; of integers and bool as i64 or u64."},
       {"prod", reduced_into<prod>, "The product; of integers and bool as i64 or u64."}},
      arg("x"), arg("axis") = nb::none(), arg("keepdims") = false, arg("dtype") = nb::none());
  add_functions<Tensor(T, const Axes&, bool)>(
      m,
      {{"sum_of_squares", sum_of_squares, "The sum of x², of complex numbers of |x|²."},
       {"max", max, "The greatest; NaN where one is."},
       {"min", min, "The least; NaN where one is."},
       {"all", all, "Whether none is 0."},
       {"any", any, "Whether one is not 0."},
       {"mean", mean, "The mean; of integers as f32."},
       {"logsumexp", logsumexp, "log(sum(exp(x))), without overflow."},
       {"nansum", nansum, "The sum without NaNs."},
       {"nanprod", nanprod, "The product without NaNs."},
       {"nanmax", nanmax, "The greatest that is not NaN."},
       {"nanmin", nanmin, "The least that is not NaN."},
       {"nanmean", nanmean, "The mean without NaNs."},
       {"count_nonzero", count_nonzero, "How many are not 0."}},
      arg("x"), arg("axis") = nb::none(), arg("keepdims") = false);
  add_functions<Tensor(T, const Axes&, double, bool)>(
      m,
      {{"var", var,
        "The mean squared distance from the mean, divided by the count less `correction`."},
       {"std", stddev, "The root of var."},
       {"nanvar", nanvar, "var of those that are not NaN."},
       {"nanstd", nanstd, "The root of nanvar."}},
      arg("x"), arg("axis") = nb::none(), arg("correction") = 0.0, arg("keepdims") = false);
  add_functions<Tensor(T, double, const Axes&, bool)>(
      m, {{"norm", norm, "(sum |x|^order)^(1/order); inf the greatest |x|, -inf the least."}},
      arg("x"), arg("order") = 2.0, arg("axis") = nb::none(), arg("keepdims") = false);
  add_functions<Tensor(T, Place, bool)>(
      m,
      {{"argmax", argmax,
        "Where the greatest is, the first of several; among all without an axis."},
       {"argmin", argmin, "Where the least is, the first of several; among all without an axis."},
       {"median", median, "The one in the middle, or the mean of two; NaN where one is."},
       {"nanmedian", nanmedian, "The median of those that are not NaN."}},
      arg("x"), arg("axis") = nb::none(), arg("keepdims") = false);
  add_functions<Tensor(T, O, Place, bool)>(
      m,
      {{"quantile", quantile, "Below which a share q in [0, 1] of the numbers lies."},
       {"nanquantile", nanquantile, "The quantile of those that are not NaN."}},
      arg("x"), arg("q"), arg("axis") = nb::none(), arg("keepdims") = false);
  add_functions<Tensor(T, double)>(
      m, {{"cov", cov, "How the rows vary together, divided by their length less `correction`."}},
      arg("x"), arg("correction") = 1.0);
  add_functions<Tensor(T)>(m, {{"corrcoef", corrcoef, "How the rows are correlated."}}, arg("x"));
  add_functions<Tensor(T, Place, bool)>(
      m,
      {{"cumsum", accumulated<cumsum>,
        "Sums up to each element, or from it on; of all, flattened, without an axis."},
       {"cumprod", accumulated<cumprod>,
        "Products up to each element, or from it on; of all, flattened, without an axis."}},
      arg("x"), arg("axis") = nb::none(), arg("reverse") = false);
  add_functions<Tensor(T, int64_t, bool)>(
      m,
      {{"cummax", cummax, "The greatest up to each element, or from it on."},
       {"cummin", cummin, "The least up to each element, or from it on."},
       {"logcumsumexp", logcumsumexp, "log(cumsum(exp(x))), without overflow."}},
      arg("x"), arg("axis"), arg("reverse") = false);
  add_functions<Tensor(T, T, int64_t, bool)>(
      m, {{"linear_recurrence", linear_recurrence, "h[k] = a[k] * h[k - 1] + b[k], from 0."}},
      arg("a"), arg("b"), arg("axis"), arg("reverse") = false);
  add_functions<Tensor(T, int64_t, bool, O)>(
      m,
      {{"shifted", shifted, "What stands before each element, or behind it; `first` at the end."}},
      arg("x"), arg("axis"), arg("reverse"), arg("first"));
}

Tensor slice_of(T x, int64_t axis, Place start, Place stop, int64_t step) {
  return slice(x, axis, {.start = start, .stop = stop, .step = step});
}
Tensor transpose_of(T x, const std::optional<std::vector<int64_t>>& axes) {
  return axes ? transpose(x, *axes) : transpose(x);
}
// Those from start_dim to end_dim as one.
Tensor flatten_of(T x, int64_t start_dim, int64_t end_dim) {
  if (x.rank() == 0) return flatten(x);
  const auto first = static_cast<size_t>(Axes(start_dim).within(x.rank())[0]),
             last = static_cast<size_t>(Axes(end_dim).within(x.rank())[0]);
  if (first > last) throw ValueError("flatten: from dimension {} to {}", start_dim, end_dim);
  Dim together = 1;
  Shape shape;
  for (size_t i = 0; i < x.rank(); ++i) {
    const Dim size = x.shape(static_cast<int64_t>(i));
    if (i >= first && i <= last) together = together * size;
    if (i < first || i > last) shape.append(size);
    if (i == last) shape.append(together);
  }
  return reshape(x, shape);
}

Tensor astype_of(T x, DType dtype, bool, Device) { return astype(x, dtype); }
// Nobody can tell whether memory is shared.
Tensor reshape_of(T x, const Shape& shape, std::optional<bool>) { return reshape(x, shape); }
Tensor squeeze_of(T x, const std::optional<Axes>& axes) {
  std::vector<int64_t> places;
  if (axes) places = axes->within(x.rank());
  for (size_t i = 0; !axes && i < x.rank(); ++i) {
    if (x.shape().at(static_cast<int64_t>(i)) == Dim(1)) places.push_back(static_cast<int64_t>(i));
  }
  Tensor result = x;
  for (size_t i = places.size(); i-- > 0;) result = squeeze(result, places[i]);
  return result;
}
Tensor flip_of(T x, const Axes& axes) {
  Tensor result = x;
  for (const int64_t axis : axes.within(x.rank())) result = flip(result, axis);
  return result;
}

void bind_shapes(nb::module_& m) {
  add_functions<Tensor(T)>(
      m,
      {{"matrix_transpose", matrix_transpose, "The last two dimensions exchanged."},
       {"atleast_1d", atleast_1d, "A number as a vector of one."},
       {"atleast_2d", atleast_2d, "A vector as a row."},
       {"atleast_3d", atleast_3d, "A matrix as the first of a third dimension."}},
      arg("x"));
  add_functions<Tensor(T, int64_t, int64_t)>(
      m,
      {{"flatten", flatten_of, "All elements along one dimension, or those of some dimensions."}},
      arg("x"), arg("start_dim") = 0, arg("end_dim") = -1);
  add_functions<Tensor(T, DType, bool, Device)>(
      m, {{"astype", astype_of, "The numbers in another dtype."}}, arg("x"), arg("dtype"),
      arg("copy") = true, arg("device") = nb::none());
  add_functions<Tensor(T, const Shape&)>(
      m, {{"broadcast_to", broadcast_to, "Sizes of 1 stretched, and dimensions added in front."}},
      arg("x"), Parameter::spread("shape"));
  add_functions<Tensor(T, const Shape&, std::optional<bool>)>(
      m,
      {{"reshape", reshape_of,
        "The elements in row-major order; one size may be -1: what remains."}},
      arg("x"), Parameter::spread("shape"), arg("copy") = nb::none());
  add_functions<Tensor(T, IntegerSpan)>(
      m, {{"permute_dims", permute_dims, "The dimensions in another order."}}, arg("x"),
      Parameter::spread("axes"));
  add_functions<Tensor(T, const std::optional<std::vector<int64_t>>&)>(
      m, {{"transpose", transpose_of, "The dimensions in reverse order, or in that of `axes`."}},
      arg("x"), arg("axes") = nb::none());
  add_functions<Tensor(T, int64_t)>(
      m, {{"expand_dims", expand_dims, "With a dimension of size 1 there."}}, arg("x"),
      arg("axis") = 0);
  add_functions<Tensor(T, const std::optional<Axes>&)>(
      m, {{"squeeze", squeeze_of, "Without those dimensions, or all, of size 1."}}, arg("x"),
      arg("axis") = nb::none());
  add_functions<Tensor(T, const Axes&)>(m, {{"flip", flip_of, "Backwards along the axes, or all."}},
                                        arg("x"), Parameter::spread("axis", nb::none()));
  add_functions<Tensor(T, int64_t, int64_t)>(
      m, {{"swapaxes", swapaxes, "Two dimensions exchanged."}}, arg("x"), arg("a"), arg("b"));
  add_functions<Tensor(T, IntegerSpan, IntegerSpan)>(
      m, {{"moveaxis", moveaxis, "One dimension moved, or several."}}, arg("x"), arg("source"),
      arg("destination"));
  add_functions<Tensor(T, int64_t, Place, Place, int64_t)>(
      m, {{"slice", slice_of, "start, start + step, ... before stop along the axis."}}, arg("x"),
      arg("axis"), arg("start") = nb::none(), arg("stop") = nb::none(), arg("step") = 1);
  add_functions<Tensor(T, int64_t, Dim, Dim, int64_t)>(
      m, {{"slice_axis", slice_axis, "`count` elements along the axis: start, start + step, ..."}},
      arg("x"), arg("axis"), arg("start"), arg("count"), arg("step") = 1);
  add_functions<Tensor(T, int64_t, Dim, Dim, int64_t)>(
      m,
      {{"pad_zeros", pad_zeros, "Zeros before, behind and, by a step above 1, between elements."}},
      arg("x"), arg("axis"), arg("before"), arg("after"), arg("step") = 1);
  add_functions<Tensor(T, std::span<const PadWidth>, PadMode, const Scalar&)>(
      m,
      {{"pad", pad,
        "A pair (before, after) for each dimension, or for the last ones. Modes: "
        "constant (the value), edge, reflect, wrap."}},
      arg("x"), arg("widths"), arg("mode") = "constant", arg("value") = 0);
}

Tensor concat_of(TensorSpan tensors, Place axis) {
  if (axis) return concat(tensors, *axis);
  Tensors flat;
  for (T each : tensors) flat.push_back(flatten(each));
  return concat(flat, 0);
}
Tuple unstack_of(T x, int64_t axis) { return {unstack(x, axis)}; }
// A number, or a tensor with one for each element.
Tensor repeat_of(T x, const Repeats& repeats, Place axis, std::optional<Dim> total) {
  const Tensor of = axis ? x : flatten(x);
  if (!repeats.counts) return repeat(of, repeats.count, axis.value_or(0));
  if (repeats.counts.rank() == 0 || repeats.counts.shape(0) == 1) {
    const Tensor each = broadcast_to(repeats.counts, Shape({of.shape(axis.value_or(0))}));
    return repeat(of, each, axis.value_or(0), total);
  }
  return repeat(of, repeats.counts, axis.value_or(0), total);
}
Tensor roll_of(T x, IntegerSpan shift, const std::optional<std::vector<int64_t>>& axes) {
  if (!axes) {
    int64_t all = 0;
    for (const int64_t each : shift) all += each;
    return reshape(roll(flatten(x), all, 0), x.shape());
  }
  const std::vector<int64_t> shifts(axes->size(), shift.size() == 1 ? shift[0] : 0);
  return roll(x, shift.size() == 1 ? IntegerSpan(shifts) : shift, *axes);
}

using SomeSizes = std::optional<std::vector<int64_t>>;
Tensors split_of(T x, std::optional<int64_t> parts, int64_t axis, const SomeSizes& sizes) {
  if (parts.has_value() == sizes.has_value()) {
    throw TypeError("split: takes either `parts` or `size`")
        .hint("split(x, 4) gives 4 parts, split(x, size=4) parts of 4");
  }
  if (parts) return split(x, *parts, axis);
  const int64_t length = x.shape(axis).number();
  std::vector<Dim> places;  // where parts begin, the first aside
  int64_t place = 0;
  for (const int64_t size : *sizes) {
    if (size < (sizes->size() == 1 ? 1 : 0)) throw ValueError("split: a part of {}", size);
    place += size;
    places.emplace_back(place);
  }
  if (sizes->size() == 1) {
    for (place += sizes->front(); place < length; place += sizes->front()) {
      places.emplace_back(place);
    }
    if (places.back().number() >= length) places.pop_back();
  } else if (place != length) {
    throw ShapeError("split: parts of {} together, of {} elements", place, length);
  } else {
    places.pop_back();
  }
  return split_at(x, places, axis);
}

void bind_arrangements(nb::module_& m) {
  add_functions<Tensor(TensorSpan, Place)>(
      m, {{"concat", concat_of, "One behind the other along the axis; with None, flattened."}},
      arg("arrays"), Parameter("axis", nb::int_(0), true));
  add_functions<Tensor(TensorSpan, int64_t)>(m, {{"stack", stack, "Along a new axis."}},
                                             arg("arrays"), arg("axis") = 0);
  add_functions<Tensor(TensorSpan)>(
      m,
      {{"vstack", vstack, "Below each other; vectors count as rows."},
       {"hstack", hstack, "Beside each other: along the second dimension, or the only one."},
       {"dstack", dstack, "Behind each other, along the third dimension."},
       {"column_stack", column_stack, "Beside each other; vectors count as columns."}},
      arg("tensors"));
  add_functions<Tensors(T, std::optional<int64_t>, int64_t, const SomeSizes&)>(
      m,
      {{"split", split_of,
        "Parts that are alike; ValueError where they would not be. Or parts of a size, of which "
        "the last may be smaller, or of several sizes."}},
      arg("x"), arg("parts") = nb::none(), arg("axis") = 0, arg("size") = nb::none());
  add_functions<Tensors(T, int64_t, int64_t)>(
      m, {{"chunk", chunk, "At most so many parts, all but the last alike."}}, arg("x"),
      arg("parts"), arg("axis") = 0);
  add_functions<Tensors(T, std::span<const Dim>, int64_t)>(
      m, {{"split_at", split_at, "Parts that begin at the places."}}, arg("x"), arg("places"),
      arg("axis") = 0);
  add_functions<Tuple(T, int64_t)>(m, {{"unstack", unstack_of, "The parts without the axis."}},
                                   arg("x"), arg("axis") = 0);
  add_functions<Tensor(T, int64_t, const Shape&)>(
      m, {{"unflatten", unflatten, "One dimension as several; one size may be -1."}}, arg("x"),
      arg("axis"), arg("sizes"));
  add_functions<Tensor(T, IntegerSpan)>(
      m, {{"tile", tile, "The whole so many times along each dimension."}}, arg("x"),
      Parameter::spread("counts"));
  add_functions<Tensor(T, const Repeats&, Place, std::optional<Dim>)>(
      m,
      {{"repeat", repeat_of,
        "Each element so many times, or as often as the count for its place says, along the axis "
        "or of all elements; `total` of them, where that is known."}},
      arg("x"), arg("repeats"), arg("axis") = nb::none(), arg("total") = nb::none());
  add_functions<Tensor(T, IntegerSpan, const std::optional<std::vector<int64_t>>&)>(
      m,
      {{"roll", roll_of,
        "What is moved out at one end comes in at the other, along the axes or of all elements."}},
      arg("x"), arg("shift"), arg("axis") = nb::none());
  add_functions<Tensor(T, int64_t, int64_t, int64_t)>(
      m, {{"rot90", rot90, "Turned from one dimension towards another."}}, arg("x"),
      arg("times") = 1, arg("source") = 0, arg("destination") = 1);
  add_functions<Tensor(T, int64_t)>(
      m,
      {{"channel_shuffle", channel_shuffle, "The first channel of each group, then the second."}},
      arg("x"), arg("groups"));
  add_functions<Tensor(T, int64_t)>(
      m,
      {{"pixel_shuffle", pixel_shuffle, "[..., c*f*f, h, w] to [..., c, h*f, w*f]."},
       {"pixel_unshuffle", pixel_unshuffle, "[..., c, h*f, w*f] to [..., c*f*f, h, w]."}},
      arg("x"), arg("factor"));
  add_functions<Tensor(T, Dim)>(
      m, {{"tril", tril, "0 above the diagonal."}, {"triu", triu, "0 below the diagonal."}},
      arg("x"), arg("k") = 0);
  add_functions<Tensor(T, int64_t)>(
      m,
      {{"diagonal", diagonal, "The diagonal of each matrix."},
       {"diag_embed", diag_embed, "Matrices whose diagonals are the vectors."},
       {"diag", diag, "A matrix with that diagonal, or the diagonal of a matrix."}},
      arg("x"), arg("offset") = 0);
  add_functions<Tensors(int64_t, int64_t, int64_t)>(
      m,
      {{"tril_indices", tril_indices, "Rows and columns of what is up to a diagonal."},
       {"triu_indices", triu_indices, "Rows and columns of what is from a diagonal on."}},
      arg("rows"), arg("columns"), arg("offset") = 0);
}

void bind_memory(nb::module_& m) {
  add_functions<Tensor(T)>(
      m, {{"contiguous", contiguous, "The same, in row-major order without gaps."}}, arg("x"));
  add_functions<Tensor(T, const Shape&, IntegerSpan, int64_t)>(
      m,
      {{"as_strided", as_strided,
        "The elements with the numbers offset + sum(index * strides), in row-major order."}},
      arg("x"), arg("shape"), arg("strides"), arg("offset") = 0);
  add_functions<Tensor(T, DType)>(
      m, {{"view_dtype", view_dtype, "The same bytes as elements of another dtype."}}, arg("x"),
      arg("dtype"));
  add_functions<Tensor(T, const PerDimension&, const UnfoldOptions&)>(
      m, {{"unfold", unfold, "The elements of each window over images as a column."}}, arg("x"),
      arg("kernel_size"));
  add_functions<Tensor(T, const std::vector<Dim>&, const PerDimension&, const UnfoldOptions&)>(
      m, {{"fold", fold, "The columns of unfold, added up to images of this size."}}, arg("x"),
      arg("output_size"), arg("kernel_size"));
}

}  // namespace

void bind_functions(nb::module_& module) {
  bind_reductions(module);
  bind_shapes(module);
  bind_arrangements(module);
  bind_memory(module);
  module.def("borrow", borrow_numpy, arg("array"), "A tensor in the memory of an array of NumPy.");
  module.def("_borrow_as", borrow_as, arg("array"), arg("dtype"));
}

}  // namespace plait::python
