// From objects of Python to what the library takes, and back.
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/utf8.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/arrays/to_device.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/tracing/trace.h"

#include "python/bindings/bindings.h"

namespace plait::python {
std::optional<Lent> Lent::at(std::byte* first, DType dtype, std::span<const int64_t> sizes,
                             std::span<const int64_t> strides) {
  const int64_t size = size_of(dtype);
  const auto alignment = static_cast<uintptr_t>(std::min<int64_t>(is_key(dtype) ? 8 : size, 8));
  if (reinterpret_cast<uintptr_t>(first) % alignment != 0) return std::nullopt;
  Lent view{dtype, {}, nullptr, size};
  int64_t below = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t stride = sizes[i] == 1 ? size : strides[i];
    if (stride % size != 0) return std::nullopt;
    view.layout.sizes.push_back(sizes[i]);
    view.layout.strides.push_back(stride / size);
    const int64_t reach = (sizes[i] - 1) * stride;
    view.bytes += std::abs(reach);
    if (reach < 0) below -= reach;
  }
  view.lowest = first - below;
  view.layout.offset = below / size;
  return view;
}

Tensor Lent::borrow(std::function<void()> release) const {
  const bool is_number = layout.rank() == 0;
  return Tensor(
      Array::borrow(dtype, layout, lowest, bytes, std::move(release)).unplaced(is_number));
}

namespace {

std::optional<Lent> lent_by(nb::handle array, DType dtype) {
  const nb::object interface = array.attr("__array_interface__");
  const auto address = nb::cast<uintptr_t>(interface["data"][nb::int_(0)]);
  return Lent::at(reinterpret_cast<std::byte*>(address), dtype, integers_from(array.attr("shape")),
                  integers_from(array.attr("strides")));
}

// Releases the Python object, from any thread, unless Python has been finalised.
std::function<void()> keep_alive(nb::handle object) {
  object.inc_ref();
  return [object] {
    if (Py_IsInitialized() == 0 || is_ended_elsewhere()) return;
    const LockedPython locked;
    object.dec_ref();
  };
}

}  // namespace

const char* class_name_of(nb::handle object) { return Py_TYPE(object.ptr())->tp_name; }

std::string full_class_name_of(nb::handle object) {
  const std::string name = class_name_of(object);
  const nb::object module = nb::getattr(object.type(), "__module__", nb::none());
  if (!nb::isinstance<nb::str>(module) || name.find('.') != std::string::npos) return name;
  const std::string path = utf8_of(module);
  if (path == "builtins" || path == "__main__") return name;
  return path.substr(0, path.find('.')) + "." + name;
}

int64_t integer_from(nb::handle object) {
  const nb::object integer = nb::steal(PyNumber_Index(object.ptr()));
  if (!integer.is_valid()) {
    PyErr_Clear();
    throw TypeError("expected an integer, not {}", class_name_of(object));
  }
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
  if (overflow != 0) {
    throw ValueError("{} does not fit into 64 bits", utf8_of(object))
        .hint("make it a tensor of u64: plait.asarray(number, plait.u64)");
  }
  return value;
}

bool is_sequence(nb::handle object) {
  if (nb::isinstance<nb::tuple>(object) || nb::isinstance<nb::list>(object)) return true;
  if (PyRange_Check(object.ptr())) return true;
  return !nb::isinstance<Tensor>(object) && nb::hasattr(object, "__array_interface__") &&
         nb::cast<int>(object.attr("ndim")) == 1;
}

nb::object numpy_array(nb::handle given) {
  try {
    return nb::module_::import_("numpy").attr("asarray")(given);
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_ValueError)) throw;
    throw ValueError("{}", utf8_of(error.value())).at(Location::of_caller());
  }
}

Tensor borrow_numpy(nb::handle given) {
  // A NumPy scalar has no memory that can be shared; an array of it has.
  nb::object array = numpy_array(given);
  if (!nb::cast<bool>(array.attr("dtype").attr("isnative"))) {
    array = array.attr("astype")(array.attr("dtype").attr("newbyteorder")("="));
  }
  return borrow_as(array, array.attr("dtype"));
}

Tensor borrow_as(nb::handle given, nb::handle of) {
  nb::object array = nb::borrow(given);
  const DType dtype = dtype_from(of);
  std::optional<Lent> view = lent_by(array, dtype);
  if (!view) {
    array = array.attr("copy")("C");
    view = lent_by(array, dtype);
  }
  if (view->layout.element_count() == 0) return Tensor(Array::empty(dtype, view->layout.sizes));
  return view->borrow(keep_alive(array));
}

namespace {
PyTypeObject* item_class = nullptr;  // null until it is declared
}

void declare_item(nb::handle cls) {
  item_class = reinterpret_cast<PyTypeObject*>(cls.inc_ref().ptr());
}

nb::object new_item(nb::handle tensor) {
  return nb::module_::import_("plait.inside.arrays.items").attr("Item")(tensor);
}

bool is_item(nb::handle object) {
  return item_class != nullptr && Py_TYPE(object.ptr()) == item_class;
}

nb::object number_of_item(nb::handle item) { return item.attr("_number")(); }

PythonOperand::PythonOperand(nb::handle object) {
  PyObject* raw = object.ptr();
  if (nb::isinstance<Tensor>(object))
    tensor_ = nb::cast<Tensor>(object);
  else if (PyBool_Check(raw))
    scalar_ = raw == Py_True;
  else if (PyLong_CheckExact(raw))
    set_integer(object);
  else if (PyFloat_CheckExact(raw))
    scalar_ = PyFloat_AsDouble(raw);
  else if (PyComplex_CheckExact(raw))
    scalar_ = std::complex<double>(PyComplex_RealAsDouble(raw), PyComplex_ImagAsDouble(raw));
  else if (nb::isinstance<Dim>(object))
    scalar_ = nb::cast<Dim>(object);
  else if (is_element_count(raw))
    set_integer(object);
  else if (is_item(object))
    *this = PythonOperand(number_of_item(object));
  else if (nb::hasattr(object, "__array_interface__")) {
    tensor_ = borrow_numpy(object);
    is_array_ = true;
  } else
    throw TypeError("expected a tensor, a number or a NumPy array, not {}",
                    full_class_name_of(object))
        .at(Location::of_caller())
        .hint("plait.asarray(x) converts lists and arrays of other libraries");
}

PythonOperand PythonOperand::recorded(nb::handle item) {
  const nb::object found = item.attr("_operand")();
  PythonOperand operand(found);
  if (operand.tensor_) {
    operand.recorded_ =
        is_complex(operand.tensor_.dtype()) ? ScalarKind::complex : ScalarKind::floating;
  }
  return operand;
}

void PythonOperand::settle(std::span<const DType> others) {
  if (!recorded_) return;
  const ScalarKind kind = *std::exchange(recorded_, std::nullopt);
  tensor_ =
      astype(tensor_, others.empty() ? default_dtype(kind) : promote(others, std::span(&kind, 1)));
}

void PythonOperand::move_to(Device device) {
  if (Trace::current() == nullptr) tensor_ = to_device(tensor_, device);
}

// A number that only fits u64 becomes a u64 tensor, not a number without a dtype.
void PythonOperand::set_integer(nb::handle integer) {
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
  if (overflow == 0) {
    scalar_ = value;
    return;
  }
  const uint64_t large = PyLong_AsUnsignedLongLong(integer.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw ValueError("{} does not fit into 64 bits", utf8_of(integer));
  }
  tensor_ = Tensor(Array::of(large));
}

Tensor PythonOperand::tensor() const {
  if (tensor_) return tensor_;
  const Operand operand(scalar_);
  return operand.as(default_dtype(scalar_.kind()));
}

Tensor& tensor_in(nb::handle self) {
  if (!nb::isinstance<Tensor>(self)) {
    throw TypeError("a method of Tensor needs a tensor, not {}", class_name_of(self))
        .at(Location::of_caller());
  }
  return *nb::inst_ptr<Tensor>(self);
}

Tensor tensor_from(nb::handle object) {
  if (nb::isinstance<Tensor>(object)) return nb::cast<Tensor>(object);
  return PythonOperand(object).tensor();
}

bool is_foreign_array(nb::handle object) {
  return !nb::isinstance<Tensor>(object) && nb::hasattr(object, "__array_interface__");
}

void move_arrays(std::span<Tensor> tensors, const std::vector<bool>& is_array) {
  const auto is_placed = [&](size_t i) {
    return !is_array[i] && tensors[i] && !tensors[i].is_traced() && !tensors[i].is_unplaced();
  };
  size_t first = 0;
  while (first < tensors.size() && !is_placed(first)) ++first;
  const Device device = first < tensors.size() ? tensors[first].device() : default_device();
  if (device.is_cpu() || Trace::current() != nullptr) return;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (is_array[i]) tensors[i] = to_device(tensors[i], device);
  }
}

std::vector<Tensor> tensors_from(nb::handle sequence) {
  std::vector<Tensor> tensors;
  std::vector<bool> is_array;
  for (const nb::handle each : sequence) {
    tensors.push_back(tensor_from(each));
    is_array.push_back(is_foreign_array(each));
  }
  if (std::ranges::any_of(is_array, std::identity())) {
    computed([&] {
      move_arrays(tensors, is_array);
      return 0;
    });
  }
  return tensors;
}

std::vector<Tensor> optional_tensors_from(nb::handle sequence) {
  std::vector<Tensor> tensors;
  for (const nb::handle each : sequence) {
    tensors.push_back(each.is_none() ? Tensor() : tensor_from(each));
  }
  return tensors;
}

std::shared_ptr<PyObject> held(nb::object object) {
  return {object.release().ptr(), [](PyObject* pointer) {
            const LockedPython locked;
            Py_DECREF(pointer);
          }};
}

Dim dim_from(nb::handle object) {
  if (nb::isinstance<Dim>(object)) return nb::cast<Dim>(object);
  return integer_from(object);
}

nb::object to_python(Dim dim) {
  if (dim.is_number()) return nb::int_(dim.number());
  return nb::cast(dim);
}

Shape shape_from(nb::handle object) {
  if (!is_sequence(object)) return {dim_from(object)};
  std::vector<Dim> sizes;
  for (const nb::handle each : object) sizes.push_back(dim_from(each));
  return Shape(sizes);
}

nb::tuple to_python(const Shape& shape) {
  nb::list sizes;
  for (const Dim dim : shape) sizes.append(to_python(dim));
  return nb::tuple(sizes);
}

Axes axes_from(nb::handle object) {
  if (object.is_none()) return {};
  return integers_from(object);
}

std::vector<int64_t> integers_from(nb::handle object) {
  if (!is_sequence(object)) return {integer_from(object)};
  std::vector<int64_t> integers;
  for (const nb::handle each : object) integers.push_back(integer_from(each));
  return integers;
}

nb::str text_to_python(std::string_view text) {
  if (!is_valid_utf8(text)) throw ParseError("the text {} is not UTF-8", in_quotes(text));
  return nb::str(text.data(), text.size());
}

std::string utf8_of(nb::handle object) {
  const nb::str text(object);
  Py_ssize_t size = 0;
  if (const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size)) {
    return {bytes, static_cast<size_t>(size)};
  }
  PyErr_Clear();
  const nb::object bytes =
      nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
  if (!bytes.is_valid()) nb::raise_python_error();
  return {PyBytes_AS_STRING(bytes.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

nb::object to_python(const Tensor& tensor) { return tensor ? nb::cast(tensor) : nb::none(); }

nb::object to_python(const Tuple& tuple) { return nb::tuple(to_python(tuple.tensors)); }

nb::object to_python(const std::vector<Tensor>& tensors) {
  nb::list list;
  for (const Tensor& tensor : tensors) list.append(to_python(tensor));
  return list;
}

}  // namespace plait::python
