// Functions of shapes, reductions and creation.
#include <algorithm>

#include "plait/core/error.h"
#include "plait/ops/complex.h"
#include "plait/ops/create.h"
#include "plait/ops/elementwise.h"
#include "plait/ops/matrix_parts.h"
#include "plait/ops/pad.h"
#include "plait/ops/rearrange.h"
#include "plait/ops/reduce.h"
#include "plait/ops/reinterpret.h"
#include "plait/ops/scan.h"
#include "plait/ops/shape.h"
#include "plait/ops/statistics.h"
#include "plait/ops/unfold.h"

#include "python/bindings/bind.h"

namespace plait::python {

template <>
inline constexpr std::array kChoices<PadMode> = {
    std::string_view("constant"), std::string_view("edge"), std::string_view("reflect"),
    std::string_view("wrap")};
template <>
inline constexpr std::array kChoices<GridOrder> = {std::string_view("xy"), std::string_view("ij")};

// Beside the main one. Where it is beyond every matrix, how far does not matter.
struct Diagonal {
  int64_t place = 0;

  Diagonal() {}  // NOLINT: no plain aggregate, which would be options
};
std::string annotation(Of<Diagonal>) { return "int"; }
void read(nb::handle given, Diagonal& diagonal) {
  constexpr int64_t far = int64_t{1} << 60;
  const Py_ssize_t place = PyNumber_AsSsize_t(given.ptr(), nullptr);
  if (PyErr_Occurred() != nullptr) nb::raise_python_error();
  diagonal.place = std::clamp<int64_t>(place, -far, far);
}

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
  add_functions<Tensor(T, int64_t, bool)>(
      m,
      {{"cumsum", cumsum, "Sums up to each element, or from it on."},
       {"cumprod", cumprod, "Products up to each element, or from it on."},
       {"cummax", cummax, "The greatest up to each element, or from it on."},
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

Tensor astype_of(T x, DType dtype, bool, Device) { return astype(x, dtype); }
// Nobody can tell whether memory is shared.
Tensor reshape_of(T x, const Shape& shape, std::optional<bool>) { return reshape(x, shape); }
Tensor squeeze_of(T x, const Axes& axes) {
  const std::vector<int64_t> places = axes.within(x.rank());
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
       {"atleast_3d", atleast_3d, "A matrix as the first of a third dimension."},
       {"flatten", flatten, "All elements along one dimension."}},
      arg("x"));
  add_functions<Tensor(T, DType, bool, Device)>(
      m, {{"astype", astype_of, "The numbers in another dtype."}}, arg("x"), arg("dtype"),
      arg("copy") = true, arg("device") = nb::none());
  add_functions<Tensor(T, const Shape&)>(
      m, {{"broadcast_to", broadcast_to, "Sizes of 1 stretched, and dimensions added in front."}},
      arg("x"), arg("shape"));
  add_functions<Tensor(T, const Shape&, std::optional<bool>)>(
      m,
      {{"reshape", reshape_of,
        "The elements in row-major order; one size may be -1: what remains."}},
      arg("x"), arg("shape"), arg("copy") = nb::none());
  add_functions<Tensor(T, IntegerSpan)>(
      m, {{"permute_dims", permute_dims, "The dimensions in another order."}}, arg("x"),
      arg("axes"));
  add_functions<Tensor(T, const std::optional<std::vector<int64_t>>&)>(
      m, {{"transpose", transpose_of, "The dimensions in reverse order, or in that of `axes`."}},
      arg("x"), arg("axes") = nb::none());
  add_functions<Tensor(T, int64_t)>(
      m, {{"expand_dims", expand_dims, "With a dimension of size 1 there."}}, arg("x"),
      arg("axis") = 0);
  add_functions<Tensor(T, const Axes&)>(
      m, {{"squeeze", squeeze_of, "Without those dimensions, of size 1."}}, arg("x"), arg("axis"));
  add_functions<Tensor(T, const Axes&)>(m, {{"flip", flip_of, "Backwards along the axes, or all."}},
                                        arg("x"), arg("axis") = nb::none());
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
  add_functions<Tensors(T, int64_t, int64_t)>(
      m,
      {{"split", split, "Parts that are alike; ValueError where they would not be."},
       {"chunk", chunk, "At most so many parts, all but the last alike."}},
      arg("x"), arg("parts"), arg("axis") = 0);
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
      arg("counts"));
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
  add_functions<Tensor(T, int64_t)>(
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
      arg("window"));
  add_functions<Tensor(T, const std::vector<Dim>&, const PerDimension&, const UnfoldOptions&)>(
      m, {{"fold", fold, "The columns of unfold, added up to images of this size."}}, arg("x"),
      arg("size"), arg("window"));
}

template <Tensor (*make)(const Shape&, DType)>
Tensor made_of(const Shape& shape, DType dtype, Device) {
  return make(shape, dtype);
}
void check_number(const char* function, O value) {
  if (!value.is_tensor() || value.tensor().rank() == 0) return;
  throw TypeError("{}: fill_value: expected a number, not {}", function,
                  value.tensor().type().text());
}
Tensor full_of(const Shape& shape, O value, Into dtype, Device) {
  check_number("full", value);
  return broadcast_to(dtype ? value.as(*dtype) : tensor_from(value), shape);
}
template <Tensor (*make)(T)>
Tensor made_like(T x, Into dtype, Device) {
  return dtype ? make(astype(x, *dtype)) : make(x);
}
Tensor full_like_of(T x, O value, Into dtype, Device) {
  check_number("full_like", value);
  return broadcast_to(value.as(dtype.value_or(x.dtype())), x.shape());
}
// Numbers that are no whole ones are counted in f64, whatever dtype they get.
Tensor arange_of(const Scalar& start, const std::optional<Scalar>& stop, const Scalar& step,
                 Into dtype, Device) {
  const Scalar first = stop ? start : Scalar(0);
  const Tensor counted = arange(first, stop.value_or(start), step);
  if (!dtype || *dtype == counted.dtype()) return counted;
  if (is_integer(counted.dtype())) return astype(counted, *dtype);
  return astype(iota(counted.shape(0), DType::f64) * step + first, *dtype);
}
// Along a new first axis.
Tensor between(const Tensor& start, const Tensor& stop, int64_t count, bool has_end) {
  if (count < 0) throw ValueError("linspace: {} numbers", count).at(Location::of_caller());
  const DType dtype = inexact(common_dtype(start, stop));
  const DType wide = is_complex(dtype) ? DType::c128 : DType::f64;
  const Tensor from = astype(start, wide), to = astype(stop, wide);
  Shape beside = common_shape("linspace", from.shape(), to.shape());
  for (size_t i = 0; i < beside.rank(); ++i) beside.set(i, 1);
  Shape counts{count};
  for (const Dim one : beside) counts.append(one);
  const Tensor counted = reshape(iota(count), counts);
  const int64_t steps = std::max<int64_t>(has_end ? count - 1 : count, 1);
  const Tensor numbers = from + (to - from) / steps * counted;
  return astype(where(equal(counted, has_end ? steps : -1), to, numbers), dtype);
}
Tensor linspace_of(O first, O last, int64_t num, Into dtype, bool endpoint, Device) {
  if (first.is_tensor() || last.is_tensor()) {
    const DType common = common_dtype(first, last);
    const Tensor numbers = between(first.as(common), last.as(common), num, endpoint);
    return dtype ? astype(numbers, *dtype) : numbers;
  }
  const Scalar &start = first.scalar(), &stop = last.scalar();
  const bool is_complex = start.kind() == ScalarKind::complex || stop.kind() == ScalarKind::complex;
  const DType result = dtype.value_or(is_complex ? DType::c64 : DType::f32);
  const auto part = [&](double from, double to) {
    if (endpoint) return linspace(from, to, num, DType::f64);
    return slice(linspace(from, to, num + 1, DType::f64), 0, {.stop = num});
  };
  const std::complex<double> from = start.element().number, to = stop.element().number;
  const Tensor real = part(from.real(), to.real());
  if (!is_complex) return astype(real, result);
  return astype(make_complex(real, part(from.imag(), to.imag())), result);
}
Tensor eye_of(int64_t rows, Place columns, const Diagonal& k, DType dtype, Device) {
  const int64_t across = columns.value_or(rows);
  if (k.place == 0 && !is_boolean(dtype)) return eye(rows, across, dtype);
  const Tensor places = expand_dims(iota(rows), 1) + k.place;
  return astype(equal(places, iota(across)), dtype);
}

void bind_creation(nb::module_& m) {
  const nb::object f32 = nb::cast(PythonDType{DType::f32}), i64 = nb::cast(PythonDType{DType::i64});
  const auto dtype = arg("dtype") = nb::none();
  const auto device = arg("device") = nb::none();
  add_functions<Tensor(const Shape&, DType, Device)>(
      m,
      {{"zeros", made_of<zeros>, "All 0."},
       {"ones", made_of<ones>, "All 1."},
       {"empty", made_of<empty>,
        "Whatever numbers: zeros, so that a program gives the same on every run."}},
      arg("shape"), arg("dtype") = f32, device);
  add_functions<Tensor(const Shape&, O, Into, Device)>(
      m, {{"full", full_of, "All the value, in the default dtype of its kind unless told."}},
      arg("shape"), arg("fill_value"), dtype, device);
  add_functions<Tensor(T, Into, Device)>(
      m,
      {{"zeros_like", made_like<zeros_like>, "As many zeros, of its dtype unless told."},
       {"ones_like", made_like<ones_like>, "As many ones, of its dtype unless told."},
       {"empty_like", made_like<empty_like>, "As many zeros, of its dtype unless told."}},
      arg("x"), dtype, device);
  add_functions<Tensor(T, O, Into, Device)>(
      m, {{"full_like", full_like_of, "As many of the value, in its dtype unless told."}}, arg("x"),
      arg("fill_value"), dtype, device);
  add_functions<Tensor(Dim, DType)>(m, {{"iota", iota, "0, 1, 2, ..."}}, arg("size"),
                                    arg("dtype") = i64);
  add_functions<Tensor(const Scalar&, const std::optional<Scalar>&, const Scalar&, Into, Device)>(
      m,
      {{"arange", arange_of,
        "start, start + step, ... before stop; from 0 to a lone number. Whole numbers give i64, "
        "others f32 unless told."}},
      arg("start"), arg("stop") = nb::none(), arg("step") = 1, dtype, device);
  add_functions<Tensor(O, O, int64_t, Into, bool, Device)>(
      m,
      {{"linspace", linspace_of,
        "`num` numbers in equal steps, both ends among them; tensors of ends give rows."}},
      arg("start"), arg("stop"), arg("num"), dtype, arg("endpoint") = true, device);
  add_functions<Tensor(double, double, int64_t, double, DType)>(
      m, {{"logspace", logspace, "`num` powers of the base, with exponents in equal steps."}},
      arg("start"), arg("stop"), arg("num"), arg("base") = 10.0, arg("dtype") = f32);
  add_functions<Tensor(double, double, int64_t, DType)>(
      m, {{"geomspace", geomspace, "`num` numbers with equal quotients, both ends among them."}},
      arg("start"), arg("stop"), arg("num"), arg("dtype") = f32);
  add_functions<Tensor(int64_t, Place, const Diagonal&, DType, Device)>(
      m, {{"eye", eye_of, "Ones on the k-th diagonal, zeros beside it."}}, arg("n_rows"),
      arg("n_cols") = nb::none(), arg("k") = 0, arg("dtype") = f32, device);
  add_functions<Tensor(Dim, Dim, int64_t, DType)>(
      m, {{"tri", tri, "Ones up to the diagonal, zeros above it."}}, arg("rows"), arg("columns"),
      arg("offset") = 0, arg("dtype") = f32);
}

Tensors meshgrid_of(const Rest& vectors, GridOrder indexing) {
  return meshgrid(vectors.tensors, indexing);
}
Tensors broadcast_arrays_of(const Rest& tensors) { return broadcast_arrays(tensors.tensors); }

void bind_of_many(nb::module_& m) {
  add_functions<Tensors(const Rest&, GridOrder)>(
      m,
      {{"meshgrid", meshgrid_of,
        "The vectors along a grid's dimensions, each stretched to all of it."}},
      arg("arrays"), arg("indexing") = "xy");
  add_functions<Tensors(const Rest&)>(
      m, {{"broadcast_arrays", broadcast_arrays_of, "All stretched to one shape."}}, arg("arrays"));
}

}  // namespace

void bind_functions(nb::module_& module) {
  bind_reductions(module);
  bind_shapes(module);
  bind_arrangements(module);
  bind_memory(module);
  bind_creation(module);
  bind_of_many(module);
  module.def("borrow", borrow_numpy, arg("array"), "A tensor in the memory of an array of NumPy.");
  module.def("_borrow_as", borrow_as, arg("array"), arg("dtype"));
}

}  // namespace plait::python
