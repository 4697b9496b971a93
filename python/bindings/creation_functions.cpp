// Functions that make tensors of sizes and numbers, and grids of vectors.
#include <algorithm>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/matrix_parts.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/operand.h"

#include "python/bindings/bind.h"

namespace plait::python {

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

namespace {

using nb::arg;
using T = const Tensor&;
using O = const Operand&;
using Tensors = std::vector<Tensor>;
using Place = std::optional<int64_t>;
using Into = std::optional<DType>;

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
  const auto number = [&](const Scalar& end) {
    return end.kind() == ScalarKind::complex ? end.element().number : number_of(end);
  };
  const std::complex<double> from = number(start), to = number(stop);
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
      Parameter::spread("shape"), arg("dtype") = f32, device);
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
  add_functions<Tensor(Dim, Dim, Dim, DType)>(
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

void bind_creation_functions(nb::module_& module) {
  bind_creation(module);
  bind_of_many(module);
}

}  // namespace plait::python
