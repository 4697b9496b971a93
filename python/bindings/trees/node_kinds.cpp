#include "python/bindings/trees/node_kinds.h"

#include <string_view>

#include "python/bindings/trees/registered_classes.h"

namespace plait::python {
namespace {

// The package's classes that determine the kind of a value. They live as long as the module.
struct TreeClasses {
  PyTypeObject *leaf = nullptr, *record = nullptr, *module = nullptr;
};
TreeClasses tree_classes;

bool is_of(PyObject* value, PyTypeObject* cls) {
  return cls != nullptr && PyType_IsSubtype(Py_TYPE(value), cls) != 0;
}

// Objects with attributes and no other state.
bool is_namespace(PyObject* value) {
  PyTypeObject* type = Py_TYPE(value);
  if (type == simple_namespace()) return true;
  if (std::string_view(type->tp_name) != "Namespace") return false;
  return nb::handle(reinterpret_cast<PyObject*>(type))
      .attr("__module__")
      .equal(nb::str("argparse"));
}

bool is_deque(PyObject* value) {
  static PyObject* const type =
      nb::object(nb::module_::import_("collections").attr("deque")).release().ptr();
  return reinterpret_cast<PyObject*>(Py_TYPE(value)) == type;
}

}  // namespace

bool is_tensor(PyObject* value) {
  static const PyObject* const type = nb::type<Tensor>().ptr();
  return reinterpret_cast<PyObject*>(Py_TYPE(value)) == type;
}

bool is_size(PyObject* value) {
  static const PyObject* const type = nb::type<Dim>().ptr();
  return reinterpret_cast<PyObject*>(Py_TYPE(value)) == type;
}

bool is_number(PyObject* value) {
  const PyTypeObject* type = Py_TYPE(value);
  return type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type ||
         type == &PyComplex_Type || is_element_count(value);
}

PyTypeObject* simple_namespace() {
  static PyObject* const type =
      nb::object(nb::module_::import_("types").attr("SimpleNamespace")).release().ptr();
  return reinterpret_cast<PyTypeObject*>(type);
}

// Without asking the object, whose __getattr__ may have an effect.
bool has_in_class(PyObject* value, PyObject* name) {
  return _PyType_Lookup(Py_TYPE(value), name) != nullptr;
}

PyObject* interned(const char* name) { return PyUnicode_InternFromString(name); }

Structure::Kind kind_of(PyObject* value, bool numbers_are_leaves) {
  using Kind = Structure::Kind;
  static PyObject* const of_named_tuples = interned("_fields");
  static PyObject* const of_arrays = interned("__array_interface__");
  static PyObject* const of_dataclasses = interned("__dataclass_fields__");
  if (is_tensor(value)) return Kind::leaf;
  if (const Registered* as = registered_as(Py_TYPE(value))) {
    return as->by_attributes() ? Kind::module : Kind::registered;
  }
  if (PyDict_Check(value)) return Kind::dict;
  if (PyList_Check(value) || PyTuple_CheckExact(value)) return Kind::sequence;
  if (is_number(value)) return numbers_are_leaves ? Kind::leaf : Kind::constant;
  if (value == Py_None || PyUnicode_CheckExact(value) || PyFunction_Check(value) ||
      PyType_Check(value)) {
    return Kind::constant;
  }
  if (PyTuple_Check(value)) {
    return has_in_class(value, of_named_tuples) ? Kind::named_tuple : Kind::sequence;
  }
  if (is_of(value, tree_classes.module)) return Kind::module;
  if (is_of(value, tree_classes.record)) return Kind::record;
  if (is_namespace(value)) return Kind::module;
  if (is_deque(value)) return Kind::deque;
  if (is_of(value, tree_classes.leaf) ||
      (numbers_are_leaves && (is_item(value) || is_size(value))) ||
      has_in_class(value, of_arrays)) {
    return Kind::leaf;
  }
  return has_in_class(value, of_dataclasses) ? Kind::dataclass : Kind::constant;
}

void declare_in_trees(std::string_view what, nb::handle cls) {
  PyTypeObject*& place = what == "leaf"     ? tree_classes.leaf
                         : what == "record" ? tree_classes.record
                                            : tree_classes.module;
  place = reinterpret_cast<PyTypeObject*>(cls.inc_ref().ptr());
}

}  // namespace plait::python
