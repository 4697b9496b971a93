// Indexing as in NumPy: x[1, ::2, None, ..., ids, mask], x[i] = y and x.at[i].add(y).
#include <algorithm>

#include "plait/core/error.h"
#include "plait/ops/indexing/at.h"

#include "python/bindings/bindings.h"
#include "python/bindings/transforms/argument_copies.h"

namespace plait::python {
namespace {

using Indices = std::vector<Index>;

// Far beyond any size, and far from the limits of a Dim.
constexpr int64_t kFar = int64_t{1} << 60;

int64_t clamped(nb::handle number) {
  if (PyIndex_Check(number.ptr()) == 0) {
    throw TypeError("index: a slice needs integers, not {}", class_name_of(number));
  }
  const int64_t value = PyNumber_AsSsize_t(number.ptr(), nullptr);
  if (PyErr_Occurred() != nullptr) nb::raise_python_error();
  return std::clamp(value, -kFar, kFar);
}

std::optional<Dim> bound_from(nb::handle given) {
  if (given.is_none()) return std::nullopt;
  if (nb::isinstance<Dim>(given)) return nb::cast<Dim>(given);
  return Dim(clamped(given));
}

Index slice_from(nb::handle slice) {
  const nb::object step = slice.attr("step");
  return SymbolicSlice{bound_from(slice.attr("start")), bound_from(slice.attr("stop")),
                       step.is_none() ? 1 : clamped(step)};
}

Index number_from(nb::handle object) {
  const nb::object integer = nb::steal(PyNumber_Index(object.ptr()));
  if (!integer.is_valid()) nb::raise_python_error();
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
  if (overflow != 0 || value > kFar || value < -kFar) {
    throw IndexError("index: {} is out of range for any axis", utf8_of(object));
  }
  return Dim(value);
}

// Lists become arrays of numbers; an empty list becomes an array of integers.
Index list_from(nb::handle list) {
  nb::object array = numpy_array(list);
  if (nb::cast<int64_t>(array.attr("size")) == 0) array = array.attr("astype")("int64");
  return borrow_numpy(array);
}

Index array_from(nb::handle array) {
  const bool is_number = nb::cast<int64_t>(array.attr("ndim")) == 0 && PyIndex_Check(array.ptr());
  const auto kind = nb::cast<nb::str>(array.attr("dtype").attr("kind"));
  if (is_number && (kind.equal(nb::str("i")) || kind.equal(nb::str("u")))) {
    return number_from(array);
  }
  return borrow_numpy(array);
}

Index index_from(nb::handle given) {
  PyObject* raw = given.ptr();
  if (nb::isinstance<Tensor>(given)) return nb::cast<Tensor>(given);
  if (is_item(given)) return index_from(number_of_item(given));
  if (given.is_none()) return new_axis;
  if (raw == Py_Ellipsis) return ellipsis;
  if (PySlice_Check(raw)) return slice_from(given);
  if (PyBool_Check(raw)) return raw == Py_True;
  if (nb::isinstance<Dim>(given)) return nb::cast<Dim>(given);
  if (PyLong_Check(raw)) return number_from(given);
  if (nb::isinstance<nb::list>(given) || nb::isinstance<nb::tuple>(given)) return list_from(given);
  if (nb::hasattr(given, "__array_interface__")) return array_from(given);
  if (PyIndex_Check(raw)) return number_from(given);
  throw TypeError("index: {} is not an index", class_name_of(given))
      .hint("expected integers, slices, ..., None, or tensors of integers or of bool");
}

Indices indices_from(nb::handle given) {
  if (!nb::isinstance<nb::tuple>(given)) return {index_from(given)};
  Indices indices;
  for (const nb::handle each : given) indices.push_back(index_from(each));
  return indices;
}

nb::object get_item(nb::handle self, nb::handle given) {
  const Tensor x = nb::cast<Tensor>(self);
  const Indices indices = indices_from(given);
  return to_python(computed([&] { return index(x, indices); }));
}

// True if the interpreter alone holds the object, and frees it after the statement.
bool is_temporary(nb::handle object) {
#if PY_VERSION_HEX >= 0x030E0000
  return PyUnstable_Object_IsUniqueReferencedTemporary(object.ptr()) == 1;
#else
  return Py_REFCNT(object.ptr()) == 1;
#endif
}

// Writes in place if no one else holds the numbers: earlier views keep theirs. Python's lock is
// held, since no other thread may see the object while its tensor is moved out.
void set_item(nb::handle self, nb::handle given, nb::handle value) {
  tensor_in(self);
  ArgumentCopies::expect_other(self);
  if (is_temporary(self)) {
    throw ValueError(
        "the tensor that the assignment changes is not kept: its new elements are lost")
        .at(Location::of_caller())
        .hint(
            "an index, a method or .grad makes a new tensor: x[0, 1] = y in place of x[0][1] = y; "
            "g = w.grad; g[0] = y; w.grad = g");
  }
  const Indices indices = indices_from(given);
  PythonOperand operand(value);
  Tensor& x = tensor_in(self);
  if (operand.is_array()) operand.move_to(x.device());
  x = IndexedTensor(std::move(x), indices).set(operand.get());
}

// x.at, and x.at[index].
struct At {
  Tensor x;
};
struct Indexed {
  Tensor x;
  Indices indices;
};

template <Tensor (IndexedTensor::*change)(const Operand&) &&>
nb::object changed(const Indexed& self, nb::handle value) {
  PythonOperand operand(value);
  if (operand.is_array()) operand.move_to(self.x.device());
  return to_python(
      computed([&] { return (IndexedTensor(self.x, self.indices).*change)(operand.get()); }));
}

nb::object get(const Indexed& self, nb::handle missing) {
  if (missing.is_none()) {
    return to_python(computed([&] { return index(self.x, self.indices); }));
  }
  using Get = Tensor (IndexedTensor::*)(const Operand&)&&;
  return changed<static_cast<Get>(&IndexedTensor::get)>(self, missing);
}

}  // namespace

void bind_indexing(nb::class_<Tensor>& tensor) {
  using nb::arg;
  nb::class_<Indexed>(tensor, "Indexed", "x.at[index]: x with some elements changed.")
      .def("get", get, arg("default") = nb::none(),
           "x[index], with the default, if given, for indices that are out of range.")
      .def("set", changed<&IndexedTensor::set>, arg("value"), "x with the value at the index.")
      .def("add", changed<&IndexedTensor::add>, arg("value"),
           "x with the value added at the index; repeatedly for repeated indices.")
      .def("multiply", changed<&IndexedTensor::multiply>, arg("value"),
           "x multiplied by the value at the index; repeatedly for repeated indices.")
      .def("min", changed<&IndexedTensor::min>, arg("value"),
           "x with the lesser of its element and the value at the index.")
      .def("max", changed<&IndexedTensor::max>, arg("value"),
           "x with the greater of its element and the value at the index.");
  nb::class_<At>(tensor, "At", "x.at, which takes an index in brackets.")
      .def(
          "__getitem__",
          [](const At& self, nb::handle given) { return Indexed{self.x, indices_from(given)}; },
          arg("index").none());
  tensor.def_prop_ro("at", [](const Tensor& x) { return At{x}; })
      .def("__getitem__", get_item, arg("index").none())
      .def("__setitem__", set_item, arg("index").none(), arg("value"));
}

}  // namespace plait::python
