// Functions of shapes, reductions and creation.
#include "plait/core/error.h"
#include "plait/ops/create.h"
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

namespace {

using nb::arg;
using T = const Tensor&;
using O = const Operand&;
using Tensors = std::vector<Tensor>;
using TensorSpan = std::span<const Tensor>;
using IntegerSpan = std::span<const int64_t>;
using Place = std::optional<int64_t>;

void bind_reductions(nb::module_& m) {
  add_functions<Tensor(T, const Axes&, bool)>(
      m,
      {{"sum", sum, "The sum; of integers and bool as i64 or u64."},
       {"sum_of_squares", sum_of_squares, "The sum of x², of complex numbers of |x|²."},
       {"prod", prod, "The product; of integers and bool as i64 or u64."},
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

void bind_shapes(nb::module_& m) {
  add_functions<Tensor(T)>(
      m,
      {{"matrix_transpose", matrix_transpose, "The last two dimensions exchanged."},
       {"atleast_1d", atleast_1d, "A number as a vector of one."},
       {"atleast_2d", atleast_2d, "A vector as a row."},
       {"atleast_3d", atleast_3d, "A matrix as the first of a third dimension."},
       {"flatten", flatten, "All elements along one dimension."}},
      arg("x"));
  add_functions<Tensor(T, DType)>(m, {{"astype", astype, "The numbers in another dtype."}},
                                  arg("x"), arg("dtype"));
  add_functions<Tensor(T, const Shape&)>(
      m,
      {{"broadcast_to", broadcast_to, "Sizes of 1 stretched, and dimensions added in front."},
       {"reshape", reshape, "The elements in row-major order; one size may be -1: what remains."}},
      arg("x"), arg("shape"));
  add_functions<Tensor(T, IntegerSpan)>(
      m, {{"permute_dims", permute_dims, "The dimensions in another order."}}, arg("x"),
      arg("axes"));
  add_functions<Tensor(T, const std::optional<std::vector<int64_t>>&)>(
      m, {{"transpose", transpose_of, "The dimensions in reverse order, or in that of `axes`."}},
      arg("x"), arg("axes") = nb::none());
  add_functions<Tensor(T, int64_t)>(
      m,
      {{"expand_dims", expand_dims, "With a dimension of size 1 there."},
       {"squeeze", squeeze, "Without that dimension, of size 1."},
       {"flip", flip, "Backwards along the axis."}},
      arg("x"), arg("axis"));
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

void bind_arrangements(nb::module_& m) {
  add_functions<Tensor(TensorSpan, int64_t)>(
      m,
      {{"concat", concat, "One behind the other along the axis."},
       {"stack", stack, "Along a new axis."}},
      arg("tensors"), arg("axis") = 0);
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
  add_functions<Tensors(T, int64_t)>(m, {{"unstack", unstack, "The parts without the axis."}},
                                     arg("x"), arg("axis") = 0);
  add_functions<Tensor(T, int64_t, const Shape&)>(
      m, {{"unflatten", unflatten, "One dimension as several; one size may be -1."}}, arg("x"),
      arg("axis"), arg("sizes"));
  add_functions<Tensor(T, IntegerSpan)>(
      m, {{"tile", tile, "The whole so many times along each dimension."}}, arg("x"),
      arg("counts"));
  add_functions<Tensor(T, Dim, int64_t)>(
      m, {{"repeat", repeat, "Each element so many times along the axis."}}, arg("x"), arg("count"),
      arg("axis"));
  add_functions<Tensor(T, T, int64_t, std::optional<Dim>)>(
      m, {{"repeat", repeat, "Each element as often as the count for its place says."}}, arg("x"),
      arg("counts"), arg("axis"), arg("total") = nb::none());
  add_functions<Tensor(T, IntegerSpan, IntegerSpan)>(
      m, {{"roll", roll, "What is moved out at one end comes in at the other."}}, arg("x"),
      arg("shift"), arg("axis"));
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
      m,
      {{"tril", tril, "0 above the diagonal."},
       {"triu", triu, "0 below the diagonal."},
       {"diagonal", diagonal, "The diagonal of each matrix."},
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

Tensor full_of(const Shape& shape, const Scalar& value, std::optional<DType> dtype) {
  return dtype ? full(shape, value, *dtype) : full(shape, value);
}
Tensor arange_of(const Scalar& start, const std::optional<Scalar>& stop, const Scalar& step) {
  return stop ? arange(start, *stop, step) : arange(0, start, step);
}
Tensor eye_of(int64_t rows, Place columns, DType dtype) {
  return eye(rows, columns.value_or(-1), dtype);
}

void bind_creation(nb::module_& m) {
  const nb::object f32 = nb::cast(PythonDType{DType::f32}), i64 = nb::cast(PythonDType{DType::i64});
  add_functions<Tensor(const Shape&, DType)>(
      m,
      {{"zeros", zeros, "All 0."},
       {"ones", ones, "All 1."},
       {"empty", empty, "Whatever numbers: zeros, so that a program gives the same on every run."}},
      arg("shape"), arg("dtype") = f32);
  add_functions<Tensor(const Shape&, const Scalar&, std::optional<DType>)>(
      m, {{"full", full_of, "All the value, in the default dtype of its kind unless told."}},
      arg("shape"), arg("value"), arg("dtype") = nb::none());
  add_functions<Tensor(T)>(m,
                           {{"zeros_like", zeros_like, "As many zeros of its dtype."},
                            {"ones_like", ones_like, "As many ones of its dtype."},
                            {"empty_like", empty_like, "As many zeros of its dtype."}},
                           arg("x"));
  add_functions<Tensor(T, const Scalar&)>(
      m, {{"full_like", full_like, "As many of the value, in its dtype."}}, arg("x"), arg("value"));
  add_functions<Tensor(Dim, DType)>(m, {{"iota", iota, "0, 1, 2, ..."}}, arg("size"),
                                    arg("dtype") = i64);
  add_functions<Tensor(const Scalar&, const std::optional<Scalar>&, const Scalar&)>(
      m, {{"arange", arange_of, "start, start + step, ... before stop; from 0 to a lone number."}},
      arg("start"), arg("stop") = nb::none(), arg("step") = 1);
  add_functions<Tensor(double, double, int64_t, DType)>(
      m, {{"linspace", linspace, "`count` numbers in equal steps, both ends among them."}},
      arg("start"), arg("stop"), arg("count"), arg("dtype") = f32);
  add_functions<Tensor(double, double, int64_t, double, DType)>(
      m, {{"logspace", logspace, "`count` powers of the base, with exponents in equal steps."}},
      arg("start"), arg("stop"), arg("count"), arg("base") = 10.0, arg("dtype") = f32);
  add_functions<Tensor(double, double, int64_t, DType)>(
      m, {{"geomspace", geomspace, "`count` numbers with equal quotients, both ends among them."}},
      arg("start"), arg("stop"), arg("count"), arg("dtype") = f32);
  add_functions<Tensor(int64_t, Place, DType)>(
      m, {{"eye", eye_of, "Ones on the diagonal, zeros beside it."}}, arg("rows"),
      arg("columns") = nb::none(), arg("dtype") = f32);
  add_functions<Tensor(Dim, Dim, int64_t, DType)>(
      m, {{"tri", tri, "Ones up to the diagonal, zeros above it."}}, arg("rows"), arg("columns"),
      arg("offset") = 0, arg("dtype") = f32);
}

// The tensors of f(a, b, ...), or of f([a, b, ...]).
Tensors tensors_of(const nb::args& given) {
  const bool is_list = given.size() == 1 && is_sequence(given[0]);
  return tensors_from(is_list ? nb::object(given[0]) : nb::object(given));
}

void bind_of_many(nb::module_& m) {
  m.def(
      "meshgrid",
      [](const nb::args& vectors, nb::handle order) {
        const Tensors along = tensors_of(vectors);
        GridOrder axes{};
        read(order, axes);
        return to_python(computed([&] { return meshgrid(along, axes); }));
      },
      "The vectors along a grid's dimensions, each stretched to all of it.", arg("vectors"),
      arg("order") = "xy");
  m.def(
      "broadcast_arrays",
      [](const nb::args& tensors) {
        const Tensors all = tensors_of(tensors);
        return to_python(computed([&] { return broadcast_arrays(all); }));
      },
      "All stretched to one shape.", arg("tensors"));
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
}

}  // namespace plait::python
