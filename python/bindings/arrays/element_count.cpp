// x.size: the number of elements, an int. In PyTorch it is a method, so a call raises an error that
// says what to write, instead of "int is not callable".
#include <array>

#include "plait/core/error.h"

#include "python/bindings/bindings.h"

namespace plait::python {
namespace {

PyObject* refuse_call(PyObject*, PyObject*, PyObject*) {
  try {
    throw TypeError("x.size is the number of elements, not a method")
        .hint("x.shape has the sizes, x.shape[0] is that of one dimension");
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

// Becomes a plain Python int when it is pickled or copied.
PyObject* as_plain_int(PyObject* self, PyObject*) {
  return Py_BuildValue("(O(N))", reinterpret_cast<PyObject*>(&PyLong_Type), PyNumber_Long(self));
}

PyObject* make_count_type() {
  static std::array<PyMethodDef, 2> methods = {
      PyMethodDef{"__reduce__", as_plain_int, METH_NOARGS, nullptr},
      PyMethodDef{nullptr, nullptr, 0, nullptr}};
  std::array<PyType_Slot, 3> slots = {PyType_Slot{Py_tp_call, reinterpret_cast<void*>(refuse_call)},
                                      PyType_Slot{Py_tp_methods, methods.data()},
                                      PyType_Slot{0, nullptr}};
  PyType_Spec spec = {"plait._core.ElementCount", 0, 0, Py_TPFLAGS_DEFAULT, slots.data()};
  const nb::tuple bases = nb::make_tuple(nb::handle(reinterpret_cast<PyObject*>(&PyLong_Type)));
  return PyType_FromSpecWithBases(&spec, bases.ptr());
}

PyObject* count_type() {
  static PyObject* const made = make_count_type();
  return made;
}

}  // namespace

nb::object element_count_of(const Tensor& x) {
  const Dim count = x.shape().element_count();
  if (!count.is_number()) return to_python(count);
  return nb::handle(count_type())(count.number());
}

bool is_element_count(PyObject* object) {
  return reinterpret_cast<PyObject*>(Py_TYPE(object)) == count_type();
}

}  // namespace plait::python
