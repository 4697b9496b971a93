// Shape functions and reductions.
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

#include "python/bindings/functions/bind.h"

namespace plait::python {

template <>
inline constexpr std::array kChoices<PadMode> = {
    std::string_view("constant"), std::string_view("edge"), std::string_view("reflect"),
    std::string_view("wrap")};

// The number of repetitions: one number, or one per element.
struct Repeats {
  Dim count = 0;
  Tensor counts;

  Repeats() {}  // NOLINT: must not be an aggregate, which would be a struct of options
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

// Converts to the dtype if one is given.
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
      {{"sum", reduced_into<sum>, "The sum; for integers and bool in i64 or u64."},
       {"prod", reduced_into<prod>, "The product; for integers and bool in i64 or u64."}},
      arg("x"), arg("axis") = nb::none(), arg("keepdims") = false, arg("dtype") = nb::none());
  add_functions<Tensor(T, const Axes&, bool)>(
      m,
      {{"sum_of_squares", sum_of_squares, "The sum of x², for complex numbers of |x|²."},
       {"max", max, "The maximum; NaN if any element is NaN."},
       {"min", min, "The minimum; NaN if any element is NaN."},
       {"all", all, "True if no element is 0."},
       {"any", any, "True if any element is not 0."},
       {"mean", mean, "The mean; for integers in f32."},
       {"logsumexp", logsumexp, "log(sum(exp(x))), without overflow."},
       {"nansum", nansum, "The sum of the elements that are not NaN."},
       {"nanprod", nanprod, "The product of the elements that are not NaN."},
       {"nanmax", nanmax, "The maximum of the elements that are not NaN."},
       {"nanmin", nanmin, "The minimum of the elements that are not NaN."},
       {"nanmean", nanmean, "The mean of the elements that are not NaN."},
       {"count_nonzero", count_nonzero, "The number of nonzero elements."}},
      arg("x"), arg("axis") = nb::none(), arg("keepdims") = false);
  add_functions<Tensor(T, const Axes&, double, bool)>(
      m,
      {{"var", var,
        "The variance: the sum of squared deviations from the mean, divided by the count minus "
        "`correction`."},
       {"std", stddev, "The standard deviation, the square root of var."},
       {"nanvar", nanvar, "The variance of the elements that are not NaN."},
       {"nanstd", nanstd, "The standard deviation of the elements that are not NaN."}},
      arg("x"), arg("axis") = nb::none(), arg("correction") = 0.0, arg("keepdims") = false);
  add_functions<Tensor(T, double, const Axes&, bool)>(
      m,
      {{"norm", norm, "(sum |x|^order)^(1/order); the greatest |x| for inf, the least for -inf."}},
      arg("x"), arg("order") = 2.0, arg("axis") = nb::none(), arg("keepdims") = false);
  add_functions<Tensor(T, Place, bool)>(
      m,
      {{"argmax", argmax,
        "The index of the maximum, the first of several; of the flattened tensor without an axis."},
       {"argmin", argmin,
        "The index of the minimum, the first of several; of the flattened tensor without an axis."},
       {"median", median,
        "The median: the middle element, or the mean of the two in the middle; NaN if any is NaN."},
       {"nanmedian", nanmedian, "The median of the elements that are not NaN."}},
      arg("x"), arg("axis") = nb::none(), arg("keepdims") = false);
  add_functions<Tensor(T, O, Place, bool)>(
      m,
      {{"quantile", quantile,
        "The quantile: the value below which a fraction q in [0, 1] of the elements is."},
       {"nanquantile", nanquantile, "The quantile of the elements that are not NaN."}},
      arg("x"), arg("q"), arg("axis") = nb::none(), arg("keepdims") = false);
  add_functions<Tensor(T, double)>(
      m,
      {{"cov", cov,
        "The covariance matrix of the rows, divided by their length minus `correction`."}},
      arg("x"), arg("correction") = 1.0);
  add_functions<Tensor(T)>(m, {{"corrcoef", corrcoef, "The correlation matrix of the rows."}},
                           arg("x"));
  add_functions<Tensor(T, Place, bool)>(
      m,
      {{"cumsum", accumulated<cumsum>,
        "The cumulative sum, or from the end; of the flattened tensor without an axis."},
       {"cumprod", accumulated<cumprod>,
        "The cumulative product, or from the end; of the flattened tensor without an axis."}},
      arg("x"), arg("axis") = nb::none(), arg("reverse") = false);
  add_functions<Tensor(T, int64_t, bool)>(
      m,
      {{"cummax", cummax, "The cumulative maximum, or from the end."},
       {"cummin", cummin, "The cumulative minimum, or from the end."},
       {"logcumsumexp", logcumsumexp, "log(cumsum(exp(x))), without overflow."}},
      arg("x"), arg("axis"), arg("reverse") = false);
  add_functions<Tensor(T, T, int64_t, bool)>(
      m, {{"linear_recurrence", linear_recurrence, "h[k] = a[k] * h[k - 1] + b[k], from 0."}},
      arg("a"), arg("b"), arg("axis"), arg("reverse") = false);
  add_functions<Tensor(T, int64_t, bool, O)>(
      m,
      {{"shifted", shifted,
        "The previous element of each element, or the next one; `first` where there is none."}},
      arg("x"), arg("axis"), arg("reverse"), arg("first"));
}

Tensor slice_of(T x, int64_t axis, Place start, Place stop, int64_t step) {
  return slice(x, axis, {.start = start, .stop = stop, .step = step});
}
Tensor transpose_of(T x, const std::optional<std::vector<int64_t>>& axes) {
  return axes ? transpose(x, *axes) : transpose(x);
}
// Merges the dimensions from start_dim to end_dim.
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

Tensor astype_of(T x, DType dtype, bool, const Placement&) { return astype(x, dtype); }
// It is not observable whether memory is shared.
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
      {{"matrix_transpose", matrix_transpose, "The last two dimensions swapped."},
       {"atleast_1d", atleast_1d, "A scalar becomes a vector of length 1."},
       {"atleast_2d", atleast_2d, "A vector becomes a row."},
       {"atleast_3d", atleast_3d, "A matrix gets a third dimension of size 1."}},
      arg("x"));
  add_functions<Tensor(T, int64_t, int64_t)>(
      m, {{"flatten", flatten_of, "Flattens all dimensions, or some of them, to one."}}, arg("x"),
      arg("start_dim") = 0, arg("end_dim") = -1);
  add_functions<Tensor(T, DType, bool, const Placement&)>(
      m, {{"astype", astype_of, "The numbers converted to another dtype."}}, arg("x"), arg("dtype"),
      arg("copy") = true, arg("device") = nb::none());
  add_functions<Tensor(T, const Shape&)>(
      m,
      {{"broadcast_to", broadcast_to,
        "Broadcasts to a shape: expands sizes of 1, and adds dimensions in front."}},
      arg("x"), Parameter::spread("shape"));
  add_functions<Tensor(T, const Shape&, std::optional<bool>)>(
      m,
      {{"reshape", reshape_of,
        "The elements in row-major order in another shape; one size may be -1, which is "
        "inferred."}},
      arg("x"), Parameter::spread("shape"), arg("copy") = nb::none());
  add_functions<Tensor(T, IntegerSpan)>(
      m, {{"permute_dims", permute_dims, "The dimensions in another order."}}, arg("x"),
      Parameter::spread("axes"));
  add_functions<Tensor(T, const std::optional<std::vector<int64_t>>&)>(
      m, {{"transpose", transpose_of, "The dimensions reversed, or permuted by `axes`."}}, arg("x"),
      arg("axes") = nb::none());
  add_functions<Tensor(T, int64_t)>(m,
                                    {{"expand_dims", expand_dims, "Inserts dimensions of size 1."}},
                                    arg("x"), arg("axis") = 0);
  add_functions<Tensor(T, const std::optional<Axes>&)>(
      m, {{"squeeze", squeeze_of, "Removes these dimensions of size 1, or all of them."}}, arg("x"),
      arg("axis") = nb::none());
  add_functions<Tensor(T, const Axes&)>(
      m, {{"flip", flip_of, "Reverses the order of elements along the axes, or all axes."}},
      arg("x"), Parameter::spread("axis", nb::none()));
  add_functions<Tensor(T, int64_t, int64_t)>(m, {{"swapaxes", swapaxes, "Swaps two dimensions."}},
                                             arg("x"), arg("a"), arg("b"));
  add_functions<Tensor(T, IntegerSpan, IntegerSpan)>(
      m, {{"moveaxis", moveaxis, "Moves one dimension, or several."}}, arg("x"), arg("source"),
      arg("destination"));
  add_functions<Tensor(T, int64_t, Place, Place, int64_t)>(
      m, {{"slice", slice_of, "The elements start, start + step, ... before stop along the axis."}},
      arg("x"), arg("axis"), arg("start") = nb::none(), arg("stop") = nb::none(), arg("step") = 1);
  add_functions<Tensor(T, int64_t, Dim, Dim, int64_t)>(
      m, {{"slice_axis", slice_axis, "`count` elements along the axis: start, start + step, ..."}},
      arg("x"), arg("axis"), arg("start"), arg("count"), arg("step") = 1);
  add_functions<Tensor(T, int64_t, Dim, Dim, int64_t)>(
      m,
      {{"pad_zeros", pad_zeros,
        "Pads with zeros before and after the elements, and between them for a step above 1."}},
      arg("x"), arg("axis"), arg("before"), arg("after"), arg("step") = 1);
  add_functions<Tensor(T, std::span<const PadWidth>, PadMode, const Scalar&)>(
      m,
      {{"pad", pad,
        "Pads by a pair (before, after) for each dimension, or for the last ones. Modes: constant "
        "(the value), edge, reflect, wrap."}},
      arg("x"), arg("widths"), arg("mode") = "constant", arg("value") = 0);
}

Tensor concat_of(TensorSpan tensors, Place axis) {
  if (axis) return concat(tensors, *axis);
  Tensors flat;
  for (T each : tensors) flat.push_back(flatten(each));
  return concat(flat, 0);
}
Tuple unstack_of(T x, int64_t axis) { return {unstack(x, axis)}; }
// A number, or a tensor with one number per element.
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
    throw TypeError("split: expected either `parts` or `size`")
        .hint("split(x, 4) returns 4 parts, split(x, size=4) parts of 4");
  }
  if (parts) return split(x, *parts, axis);
  const int64_t length = x.shape(axis).number();
  const int64_t least = sizes->size() == 1 ? 1 : 0;
  std::vector<Dim> places;  // beginnings of the parts, except the first
  int64_t place = 0;
  for (const int64_t size : *sizes) {
    if (size < least)
      throw ValueError("split: a part has the size {}, expected {} or more", size, least);
    place += size;
    places.emplace_back(place);
  }
  if (sizes->size() == 1) {
    for (place += sizes->front(); place < length; place += sizes->front()) {
      places.emplace_back(place);
    }
    if (places.back().number() >= length) places.pop_back();
  } else if (place != length) {
    throw ShapeError("split: the parts have {} elements together, expected {}", place, length);
  } else if (places.empty()) {
    return {};
  } else {
    places.pop_back();
  }
  return split_at(x, places, axis);
}

void bind_arrangements(nb::module_& m) {
  add_functions<Tensor(TensorSpan, Place)>(
      m, {{"concat", concat_of, "Concatenates along the axis; with None, the flattened tensors."}},
      arg("arrays"), Parameter("axis", nb::int_(0), true));
  add_functions<Tensor(TensorSpan, int64_t)>(m, {{"stack", stack, "Stacks along a new axis."}},
                                             arg("arrays"), arg("axis") = 0);
  add_functions<Tensor(TensorSpan)>(
      m,
      {{"vstack", vstack, "Stacks vertically, along the first dimension; vectors count as rows."},
       {"hstack", hstack, "Stacks horizontally, along the second dimension, or the only one."},
       {"dstack", dstack, "Stacks along the third dimension."},
       {"column_stack", column_stack, "Stacks horizontally; vectors count as columns."}},
      arg("tensors"));
  add_functions<Tensors(T, std::optional<int64_t>, int64_t, const SomeSizes&)>(
      m,
      {{"split", split_of,
        "Splits into equal parts (ValueError if impossible); or into parts of one size, of which "
        "the last may be smaller, or of several sizes."}},
      arg("x"), arg("parts") = nb::none(), arg("axis") = 0, arg("size") = nb::none());
  add_functions<Tensors(T, int64_t, int64_t)>(
      m,
      {{"chunk", chunk, "Splits into at most this many parts, all of equal size except the last."}},
      arg("x"), arg("parts"), arg("axis") = 0);
  add_functions<Tensors(T, std::span<const Dim>, int64_t)>(
      m, {{"split_at", split_at, "Splits at the indices."}}, arg("x"), arg("places"),
      arg("axis") = 0);
  add_functions<Tuple(T, int64_t)>(
      m, {{"unstack", unstack_of, "The slices along the axis, without the axis."}}, arg("x"),
      arg("axis") = 0);
  add_functions<Tensor(T, int64_t, const Shape&)>(
      m, {{"unflatten", unflatten, "Splits one dimension into several; one size may be -1."}},
      arg("x"), arg("axis"), arg("sizes"));
  add_functions<Tensor(T, IntegerSpan)>(
      m, {{"tile", tile, "Repeats the whole tensor along each dimension."}}, arg("x"),
      Parameter::spread("counts"));
  add_functions<Tensor(T, const Repeats&, Place, std::optional<Dim>)>(
      m,
      {{"repeat", repeat_of,
        "Repeats each element, by one number or by a count per element, along the axis or of the "
        "flattened tensor; `total` is the resulting size, if it is known."}},
      arg("x"), arg("repeats"), arg("axis") = nb::none(), arg("total") = nb::none());
  add_functions<Tensor(T, IntegerSpan, const std::optional<std::vector<int64_t>>&)>(
      m,
      {{"roll", roll_of, "Shifts elements cyclically, along the axes or of the flattened tensor."}},
      arg("x"), arg("shift"), arg("axis") = nb::none());
  add_functions<Tensor(T, int64_t, int64_t, int64_t)>(
      m, {{"rot90", rot90, "Rotates by multiples of 90 degrees in the plane of two dimensions."}},
      arg("x"), arg("times") = 1, arg("source") = 0, arg("destination") = 1);
  add_functions<Tensor(T, int64_t)>(
      m,
      {{"channel_shuffle", channel_shuffle,
        "Interleaves groups of channels: the first channel of each group, then the second, ..."}},
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
       {"diag_embed", diag_embed, "Matrices with the vectors as diagonals."},
       {"diag", diag, "A matrix with that diagonal, or the diagonal of a matrix."}},
      arg("x"), arg("offset") = 0);
  add_functions<Tensors(int64_t, int64_t, int64_t)>(
      m,
      {{"tril_indices", tril_indices,
        "Row and column indices of the elements on and below a diagonal."},
       {"triu_indices", triu_indices,
        "Row and column indices of the elements on and above a diagonal."}},
      arg("rows"), arg("columns"), arg("offset") = 0);
}

void bind_memory(nb::module_& m) {
  add_functions<Tensor(T)>(
      m, {{"contiguous", contiguous, "The same tensor, contiguous in row-major order."}}, arg("x"));
  add_functions<Tensor(T, const Shape&, IntegerSpan, int64_t)>(
      m,
      {{"as_strided", as_strided,
        "The elements at offset + sum(index * strides) of the flattened tensor."}},
      arg("x"), arg("shape"), arg("strides"), arg("offset") = 0);
  add_functions<Tensor(T, DType)>(
      m, {{"view_dtype", view_dtype, "The same bytes, reinterpreted as another dtype."}}, arg("x"),
      arg("dtype"));
  add_functions<Tensor(T, const PerDimension&, const UnfoldOptions&)>(
      m, {{"unfold", unfold, "The elements of each window over images, as a column (im2col)."}},
      arg("x"), arg("kernel_size"));
  add_functions<Tensor(T, const std::vector<Dim>&, const PerDimension&, const UnfoldOptions&)>(
      m, {{"fold", fold, "Sums the columns of unfold into images of this size (col2im)."}},
      arg("x"), arg("output_size"), arg("kernel_size"));
}

}  // namespace

void bind_functions(nb::module_& module) {
  bind_reductions(module);
  bind_shapes(module);
  bind_arrangements(module);
  bind_memory(module);
  module.def("borrow", borrow_numpy, arg("array"),
             "A tensor that shares the memory of a NumPy array.");
  module.def("_borrow_as", borrow_as, arg("array"), arg("dtype"));
}

}  // namespace plait::python
