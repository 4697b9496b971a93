#include "python/bindings/functions/arguments.h"

#include <limits>

#include <fmt/ranges.h>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/tensor/tracing/derivation.h"

namespace plait::python {
namespace {

// A number parameter is a constant: its derivative would silently be 0.
void expect_no_derivative(const Tensor& x) {
  if (!is_followed(x)) return;
  throw TypeError("expected a number, not {} with respect to which a derivative is computed",
                  x.type().text())
      .hint("this argument is not differentiable; x.item() returns a constant");
}

Scalar scalar_of(const Tensor& x) {
  expect_no_derivative(x);
  if (x.is_traced() || x.rank() != 0 || is_key(x.dtype())) {
    throw TypeError("expected a number, not {}", x.type().text());
  }
  const Element element = x.array().element();
  switch (kind_of(x.dtype())) {
    case DTypeKind::boolean: return element.integer != 0;
    case DTypeKind::integer:
      if (!element.is_signed && element.integer > INT64_MAX) {
        throw ValueError("{} is out of the range from -2^63 to 2^63 - 1", element.integer);
      }
      return static_cast<int64_t>(element.integer);
    case DTypeKind::floating: return element.number.real();
    default: return element.number;
  }
}

bool is_numpy_bool(nb::handle given) {
  return std::string_view(class_name_of(given)).starts_with("numpy.bool");
}

}  // namespace

void read(nb::handle given, Tensor& value) {
  if (!given.is_none()) value = tensor_from(given);
}

void read(nb::handle given, Rest& value) {
  const bool is_list = nb::len(given) == 1 && is_sequence(given[nb::int_(0)]);
  value.tensors = tensors_from(is_list ? nb::object(given[nb::int_(0)]) : nb::borrow(given));
}

void read(nb::handle given, Placement& value) {
  if (given.is_none()) return;
  value.device = device_from(given);
  value.scope = std::make_unique<DeviceScope>(*value.device);
}

void read(nb::handle given, PythonOperand& value) { value = PythonOperand(given); }

void read(nb::handle given, Scalar& value) {
  const PythonOperand operand(given);
  value = operand.get().is_tensor() ? scalar_of(operand.tensor()) : operand.get().scalar();
}

void read(nb::handle given, bool& value) {
  if (is_item(given)) return read(number_of_item(given), value);
  if (!PyBool_Check(given.ptr()) && !is_numpy_bool(given)) {
    throw TypeError("expected True or False, not {}", class_name_of(given));
  }
  value = PyObject_IsTrue(given.ptr()) == 1;
}

void read(nb::handle given, int64_t& value) { value = integer_from(given); }

void read(nb::handle given, uint64_t& value) {
  const nb::object integer = nb::steal(PyNumber_Index(given.ptr()));
  if (!integer.is_valid()) {
    PyErr_Clear();
    throw TypeError("expected an integer, not {}", class_name_of(given));
  }
  value = PyLong_AsUnsignedLongLong(integer.ptr());
  if (PyErr_Occurred() == nullptr) return;
  PyErr_Clear();
  throw ValueError("{} is out of the range from 0 to 2^64 - 1", utf8_of(given));
}

void read(nb::handle given, double& value) {
  if (nb::isinstance<Tensor>(given)) expect_no_derivative(*nb::inst_ptr<Tensor>(given));
  value = PyFloat_AsDouble(given.ptr());
  if (PyErr_Occurred() == nullptr) return;
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) nb::raise_python_error();
  PyErr_Clear();
  throw TypeError("expected a number, not {}", class_name_of(given));
}

void read(nb::handle given, std::string& value) {
  if (!nb::isinstance<nb::str>(given)) {
    throw TypeError("expected a string, not {}", class_name_of(given));
  }
  value = utf8_of(given);
}

void read(nb::handle given, Dim& value) { value = dim_from(given); }
void read(nb::handle given, DType& value) { value = dtype_from(given); }
void read(nb::handle given, Shape& value) { value = shape_from(given); }
void read(nb::handle given, AxisNames& value) {
  std::vector<std::string> names;
  read(given, names);
  value = std::move(names);
}

void read(nb::handle given, AxisPair& value) {
  if (!is_sequence(given) || nb::len(given) != 2) {
    throw TypeError("expected a pair (from, to), not {}", utf8_of(nb::repr(given)));
  }
  read(given[nb::int_(0)], value.from);
  read(given[nb::int_(1)], value.to);
}

void read(nb::handle given, Axes& value) { value = axes_from(given); }
void read(nb::handle given, PerDimension& value) { value = PerDimension(integers_from(given)); }

void read(nb::handle given, PadWidth& value) {
  if (!is_sequence(given) || nb::len(given) != 2) {
    throw TypeError("expected a pair (before, after), not {}", utf8_of(nb::repr(given)));
  }
  value = {dim_from(given[nb::int_(0)]), dim_from(given[nb::int_(1)])};
}

// A string, a number for all dimensions or one for each, or a pair for each.
void read(nb::handle given, Padding& value) {
  if (nb::isinstance<nb::str>(given)) {
    value = Padding(utf8_of(given));
  } else if (is_sequence(given) && nb::len(given) != 0 && is_sequence(given[nb::int_(0)])) {
    std::vector<PadWidth> widths;
    read(given, widths);
    std::vector<Padding::Ends> ends;
    for (const PadWidth& width : widths) ends.emplace_back(width.before, width.after);
    value = Padding(std::move(ends));
  } else {
    value = Padding(PerDimension(integers_from(given)));
  }
}

void read(nb::handle given, std::vector<Tensor>& value) { value = tensors_from(given); }

size_t choice_from(nb::handle given, std::span<const std::string_view> choices) {
  std::string name;
  read(given, name);
  for (size_t i = 0; i < choices.size(); ++i) {
    if (name == choices[i]) return i;
  }
  const std::vector<std::string> names(choices.begin(), choices.end());
  const std::string near = plait::nearest_name(name, names);
  throw ValueError("'{}' is not one of '{}'", name, fmt::join(choices, "', '"))
      .hint(near.empty() ? "" : fmt::format("did you mean '{}'?", near));
}

nb::object shown(const Scalar& value) {
  const Element element = value.element();
  return value.kind() <= ScalarKind::integer
             ? nb::object(nb::int_(static_cast<int64_t>(element.integer)))
             : nb::object(nb::float_(element.number.real()));
}

nb::object shown(const PerDimension& value) {
  return nb::int_(value.of(1, "", "", std::numeric_limits<int64_t>::min())[0]);
}

// Every default in the library has equal padding at both ends.
nb::object shown(const Padding& value) {
  const Padding::Dimension one{.size = 1, .window = 1};
  return to_python(value.of({&one, 1}, "").at(0).first);
}

}  // namespace plait::python
