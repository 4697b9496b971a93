// Functions that create tensors from sizes and numbers, and grids of vectors.
#include <algorithm>
#include <string>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/matrix_parts.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/operand.h"
#include "plait/tensor/inside/fits.h"

#include "python/bindings/functions/bind.h"

namespace plait::python {

template <>
inline constexpr std::array kChoices<GridOrder> = {std::string_view("xy"), std::string_view("ij")};

// The offset from the main diagonal. If it is outside of every matrix, its value does not matter.
struct Diagonal {
  int64_t place = 0;

  Diagonal() {}  // NOLINT: must not be an aggregate, which would be a struct of options
};
std::string annotation(Of<Diagonal>) { return "int"; }
void read(nb::handle given, Diagonal& diagonal) {
  constexpr int64_t far = int64_t{1} << 60;
  const Py_ssize_t place = PyNumber_AsSsize_t(given.ptr(), nullptr);
  if (PyErr_Occurred() != nullptr) nb::raise_python_error();
  diagonal.place = std::clamp<int64_t>(place, -far, far);
}

namespace {

using nb::arg;
using T = const Tensor&;
using O = const Operand&;
using Tensors = std::vector<Tensor>;
using Place = std::optional<int64_t>;
using Into = std::optional<DType>;

template <Tensor (*make)(const Shape&, DType)>
Tensor made_of(const Shape& shape, DType dtype, const Placement&) {
  return make(shape, dtype);
}
void check_number(const char* function, O value) {
  if (!value.is_tensor() || value.tensor().rank() == 0) return;
  throw TypeError("{}: fill_value: expected a number, not {}", function,
                  value.tensor().type().text());
}
// A number above 2^63 - 1 is a tensor of u64.
void expect_fits_into(O value, DType dtype) {
  if (!value.is_tensor()) return expect_fits(value.scalar(), dtype);
  const Tensor& x = value.tensor();
  if (x.is_traced() || x.dtype() != DType::u64 || !is_integer(dtype) || dtype == DType::u64) return;
  const uint64_t number = x.array().on_host().element().integer;
  if (number > integer_limits(dtype).max) refuse_number(std::to_string(number), dtype);
}
Tensor full_of(const Shape& shape, O value, Into dtype, const Placement&) {
  check_number("full", value);
  if (dtype) expect_fits_into(value, *dtype);
  const Tensor one = dtype ? value.as(*dtype) : tensor_from(value);
  return broadcast_to(value.is_tensor() ? one : on_default_device(one), shape);
}
template <Tensor (*make)(T)>
Tensor made_like(T x, Into dtype, const Placement&) {
  return dtype ? make(astype(x, *dtype)) : make(x);
}
Tensor full_like_of(T x, O value, Into dtype, const Placement&) {
  check_number("full_like", value);
  expect_fits_into(value, dtype.value_or(x.dtype()));
  const Tensor one = value.as(dtype.value_or(x.dtype()));
  return broadcast_to(value.is_tensor() ? one : made_on(x.device(), one), x.shape());
}
Scalar scalar_at(const Tensor& x, int64_t place) {
  const Tensor one = reshape(slice(x, 0, {.start = place, .stop = place + 1}), {});
  const Element element = one.array().on_host().element();
  if (is_integer(x.dtype())) return static_cast<int64_t>(element.integer);
  return element.number.real();
}
// Non-integer bounds are computed in f64, whatever the dtype of the result.
Tensor arange_of(const Scalar& start, const std::optional<Scalar>& stop, const Scalar& step,
                 Into dtype, const Placement&) {
  const Scalar first = stop ? start : Scalar(0);
  const Tensor counted = arange(first, stop.value_or(start), step);
  if (!dtype || *dtype == counted.dtype()) return counted;
  if (const Dim count = counted.shape(0); count.is_number() && count.number() > 0) {
    expect_fits(first, *dtype);
    if (!counted.is_traced()) expect_fits(scalar_at(counted, count.number() - 1), *dtype);
  }
  if (is_integer(counted.dtype())) return astype(counted, *dtype);
  return astype(iota(counted.shape(0), DType::f64) * step + first, *dtype);
}
// Stacks along a new first axis.
Tensor between(const Tensor& start, const Tensor& stop, int64_t count, bool has_end) {
  if (count < 0)
    throw ValueError("linspace: the count is {}, expected 0 or more", count)
        .at(Location::of_caller());
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
Tensor linspace_of(O first, O last, int64_t num, Into dtype, bool endpoint, const Placement&) {
  if (first.is_tensor() || last.is_tensor()) {
    const DType common = common_dtype(first, last);
    const Tensor numbers = between(first.as(common), last.as(common), num, endpoint);
    return dtype ? astype(numbers, *dtype) : numbers;
  }
  const Scalar &start = first.scalar(), &stop = last.scalar();
  const bool is_complex = start.kind() == ScalarKind::complex || stop.kind() == ScalarKind::complex;
  const DType result = dtype.value_or(is_complex ? DType::c64 : DType::f32);
  if (num > 0) expect_fits(start, result);
  if (num > 1 && endpoint) expect_fits(stop, result);
  const auto part = [&](double from, double to) {
    if (endpoint) return linspace(from, to, num, DType::f64);
    return slice(linspace(from, to, num + 1, DType::f64), 0, {.stop = num});
  };
  const auto number = [&](const Scalar& end) {
    return end.kind() == ScalarKind::complex ? end.element().number : number_of(end);
  };
  const std::complex<double> from = number(start), to = number(stop);
  const Tensor real = part(from.real(), to.real());
  if (!is_complex) return astype(real, result);
  return astype(make_complex(real, part(from.imag(), to.imag())), result);
}
Tensor eye_of(int64_t rows, Place columns, const Diagonal& k, DType dtype, const Placement&) {
  const int64_t across = columns.value_or(rows);
  if (k.place == 0 && !is_boolean(dtype)) return eye(rows, across, dtype);
  const Tensor places = expand_dims(iota(rows), 1) + k.place;
  return astype(equal(places, iota(across)), dtype);
}

void bind_creation(nb::module_& m) {
  const nb::object f32 = nb::cast(PythonDType{DType::f32}), i64 = nb::cast(PythonDType{DType::i64});
  const auto dtype = arg("dtype") = nb::none();
  const auto device = arg("device") = nb::none();
  add_functions<Tensor(const Shape&, DType, const Placement&)>(
      m,
      {{"zeros", made_of<zeros>, "A tensor of zeros."},
       {"ones", made_of<ones>, "A tensor of ones."},
       {"empty", made_of<empty>,
        "A tensor without specified values; in fact zeros, so that every run of a program is the "
        "same."}},
      Parameter::spread("shape"), arg("dtype") = f32, device);
  add_functions<Tensor(const Shape&, O, Into, const Placement&)>(
      m,
      {{"full", full_of,
        "A tensor filled with the value, by default in the default dtype of its kind."}},
      arg("shape"), arg("fill_value"), dtype, device);
  add_functions<Tensor(T, Into, const Placement&)>(
      m,
      {{"zeros_like", made_like<zeros_like>,
        "Zeros of the same shape, by default of the same dtype."},
       {"ones_like", made_like<ones_like>, "Ones of the same shape, by default of the same dtype."},
       {"empty_like", made_like<empty_like>,
        "Zeros of the same shape, by default of the same dtype."}},
      arg("x"), dtype, device);
  add_functions<Tensor(T, O, Into, const Placement&)>(
      m,
      {{"full_like", full_like_of, "The value in the same shape, by default in the same dtype."}},
      arg("x"), arg("fill_value"), dtype, device);
  add_functions<Tensor(Dim, DType)>(m, {{"iota", iota, "0, 1, 2, ..."}}, arg("size"),
                                    arg("dtype") = i64);
  add_functions<Tensor(const Scalar&, const std::optional<Scalar>&, const Scalar&, Into,
                       const Placement&)>(
      m,
      {{"arange", arange_of,
        "start, start + step, ... before stop; a single number is the stop. By default i64 for "
        "integers, f32 for others."}},
      arg("start"), arg("stop") = nb::none(), arg("step") = 1, dtype, device);
  add_functions<Tensor(O, O, int64_t, Into, bool, const Placement&)>(
      m,
      {{"linspace", linspace_of,
        "`num` evenly spaced numbers, both ends included; tensors of ends give rows."}},
      arg("start"), arg("stop"), arg("num"), dtype, arg("endpoint") = true, device);
  add_functions<Tensor(double, double, int64_t, double, DType)>(
      m, {{"logspace", logspace, "`num` powers of the base, with evenly spaced exponents."}},
      arg("start"), arg("stop"), arg("num"), arg("base") = 10.0, arg("dtype") = f32);
  add_functions<Tensor(double, double, int64_t, DType)>(
      m, {{"geomspace", geomspace, "`num` numbers in a geometric sequence, both ends included."}},
      arg("start"), arg("stop"), arg("num"), arg("dtype") = f32);
  add_functions<Tensor(int64_t, Place, const Diagonal&, DType, const Placement&)>(
      m, {{"eye", eye_of, "Ones on the k-th diagonal, zeros elsewhere."}}, arg("n_rows"),
      arg("n_cols") = nb::none(), arg("k") = 0, arg("dtype") = f32, device);
  add_functions<Tensor(Dim, Dim, Dim, DType)>(
      m, {{"tri", tri, "Ones up to the diagonal, zeros above it."}}, arg("rows"), arg("columns"),
      arg("offset") = 0, arg("dtype") = f32);
}

Tensors meshgrid_of(const Rest& vectors, GridOrder indexing) {
  return meshgrid(vectors.tensors, indexing);
}
Tensors broadcast_arrays_of(const Rest& tensors) { return broadcast_arrays(tensors.tensors); }

void bind_of_many(nb::module_& m) {
  add_functions<Tensors(const Rest&, GridOrder)>(m,
                                                 {{"meshgrid", meshgrid_of,
                                                   "The coordinates of a grid: each vector along "
                                                   "its dimension, broadcast to the whole grid."}},
                                                 arg("arrays"), arg("indexing") = "xy");
  add_functions<Tensors(const Rest&)>(
      m, {{"broadcast_arrays", broadcast_arrays_of, "All broadcast to one shape."}}, arg("arrays"));
}

}  // namespace

void bind_creation_functions(nb::module_& module) {
  bind_creation(module);
  bind_of_many(module);
}

}  // namespace plait::python
