// Public entry points: wrappers of Python functions that make tracebacks end in the user's own
// line, as those of C++ functions do. They are written in C++, because any Python code would add a
// frame.
#include <array>

#include <nanobind/nanobind.h>
#include <structmember.h>

#include "python/bindings/bindings.h"
#include "python/bindings/functions/argument_names.h"

namespace plait::python {
namespace {

struct BoundaryObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* weak_references;
};

BoundaryObject& boundary_of(PyObject* self) { return *reinterpret_cast<BoundaryObject*>(self); }
PyTypeObject* boundary_type();

bool is_own_code(PyObject* code) {
  const char* file = PyUnicode_AsUTF8(reinterpret_cast<PyCodeObject*>(code)->co_filename);
  if (file == nullptr) PyErr_Clear();
  return file != nullptr && is_own_file(file);
}

PyObject* entered(PyObject* self, PyObject* const* given, size_t count, PyObject* names);

// Takes ownership of the function.
PyObject* wrapped(nb::object function) {
  auto* made = PyObject_GC_New(BoundaryObject, boundary_type());
  if (made == nullptr) return nullptr;
  made->vectorcall = entered;
  made->function = function.release().ptr();
  made->weak_references = nullptr;
  PyObject_GC_Track(made);
  return reinterpret_cast<PyObject*>(made);
}

// Removes the package's frames from the traceback of the current exception, if it is an error of
// the library.
void leave_own_lines_out() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  static const nb::handle errors =
      nb::object(nb::module_::import_("plait.errors").attr("Error")).release();
  if (PyObject_IsInstance(value, errors.ptr()) != 1) {
    PyErr_Restore(type, value, traceback);
    return;
  }
  std::vector<nb::object> kept;
  for (nb::object each = nb::steal(traceback); each.is_valid() && !each.is_none();
       each = nb::object(each.attr("tb_next"))) {
    const nb::object code = each.attr("tb_frame").attr("f_code");
    if (!is_own_code(code.ptr())) kept.push_back(each);
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    kept[i].attr("tb_next") = i + 1 < kept.size() ? kept[i + 1] : nb::object(nb::none());
  }
  PyObject* first = kept.empty() ? nullptr : kept.front().release().ptr();
  PyException_SetTraceback(value, first == nullptr ? Py_None : first);
  PyErr_Restore(type, value, first);
}

// Returns the keyword of the call that the function does not have, if this is the current
// exception; "" otherwise.
std::string unknown_keyword() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  const nb::object text = value == nullptr ? nb::object() : nb::steal(PyObject_Str(value));
  PyErr_Restore(type, value, traceback);
  if (type != PyExc_TypeError || traceback != nullptr || !text.is_valid()) return {};
  const std::string said = utf8_of(text);
  constexpr std::string_view kUnexpected = "() got an unexpected keyword argument '";
  const size_t at = said.find(kUnexpected);
  if (at == std::string_view::npos) return {};
  const std::string name = said.substr(at + kUnexpected.size());
  return name.substr(0, name.find('\''));
}

nb::list names_of_parameters(nb::handle function) {
  const nb::object signature = nb::module_::import_("inspect").attr("signature")(function);
  return nb::list(nb::object(signature.attr("parameters")));
}

// Repeats the call with the function's own names for keywords of other libraries; if there is none
// for this keyword, raises the same error as functions of C++.
PyObject* entered_by_other_name(nb::handle function, const std::string& keyword,
                                PyObject* const* given, size_t count, PyObject* names) {
  PyErr_Clear();
  const nb::list own = names_of_parameters(function);
  const auto is_own = [&](std::string_view each) {
    return PySequence_Contains(own.ptr(), nb::str(each.data(), each.size()).ptr()) == 1;
  };
  if (name_meant(keyword, is_own).empty()) {
    throw no_argument(utf8_of(nb::object(function.attr("__name__"))), keyword, own)
        .at(Location::of_caller());
  }
  nb::list renamed;
  for (const nb::handle each : nb::borrow<nb::tuple>(names)) {
    const std::string name = utf8_of(each);
    const std::string_view meant = is_own(name) ? std::string_view() : name_meant(name, is_own);
    renamed.append(meant.empty() ? nb::borrow(each) : text_to_python(meant));
  }
  return PyObject_Vectorcall(function.ptr(), given, count, nb::tuple(renamed).ptr());
}

PyObject* entered(PyObject* self, PyObject* const* given, size_t count, PyObject* names) {
  const nb::handle function = boundary_of(self).function;
  PyObject* result = PyObject_Vectorcall(function.ptr(), given, count, names);
  if (result == nullptr) {
    try {
      const std::string keyword = names == nullptr ? std::string() : unknown_keyword();
      if (!keyword.empty()) {
        result = entered_by_other_name(function, keyword, given, count, names);
      }
      if (result == nullptr) leave_own_lines_out();
    } catch (...) {
      set_python_error();
    }
    if (result == nullptr) return nullptr;
  }
  // Functions that the package returns are entry points too.
  const bool is_made_here = PyFunction_Check(result) && is_own_code(PyFunction_GetCode(result));
  return is_made_here ? wrapped(nb::steal(result)) : result;
}

// ---- All other attributes are those of the wrapped function.

PyObject* attribute(PyObject* self, PyObject* name) {
  PyObject* own = PyObject_GenericGetAttr(self, name);
  if (own != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) return own;
  PyErr_Clear();
  return PyObject_GetAttr(boundary_of(self).function, name);
}
PyObject* wrapped_function(PyObject* self, void*) { return Py_NewRef(boundary_of(self).function); }
// Functions of the package are looked up, and pickled, as members of plait.
PyObject* module_name(PyObject* self, void*) {
  PyObject* module = PyObject_GetAttrString(boundary_of(self).function, "__module__");
  if (module == nullptr || !PyUnicode_Check(module)) return module;
  if (!utf8_of(module).starts_with("plait.")) return module;
  Py_DECREF(module);
  return PyUnicode_FromString("plait");
}
PyObject* doc(PyObject* self, void*) {
  const nb::handle function = boundary_of(self).function;
  try {
    const nb::object module = nb::steal(module_name(self, nullptr));
    const nb::object own = function.attr("__doc__");
    const nb::object name = function.attr("__qualname__");  // a method has no example of a function
    if (own.is_none() || !module.equal(nb::str("plait"))) return nb::object(own).release().ptr();
    return with_example(own, module, utf8_of(name).c_str()).release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}
PyObject* shown_boundary(PyObject* self) { return PyObject_Repr(boundary_of(self).function); }
PyObject* by_name(PyObject* self, PyObject*) {
  return PyObject_GetAttrString(boundary_of(self).function, "__qualname__");
}
PyObject* bound(PyObject* self, PyObject* object, PyObject*) {
  return object == nullptr || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(boundary_of(self).function);
  Py_VISIT(Py_TYPE(self));
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(boundary_of(self).function);
  return 0;
}
void deallocate_boundary(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (boundary_of(self).weak_references != nullptr) PyObject_ClearWeakRefs(self);
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

template <class Function>
void* slot(Function* function) {
  return reinterpret_cast<void*>(function);
}

PyTypeObject* make_boundary_type() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(BoundaryObject, vectorcall), READONLY, nullptr},
      {"__weaklistoffset__", T_PYSSIZET, offsetof(BoundaryObject, weak_references), READONLY,
       nullptr},
      {}};
  static PyGetSetDef properties[] = {{"__wrapped__", wrapped_function, nullptr, nullptr, nullptr},
                                     {"__doc__", doc, nullptr, nullptr, nullptr},
                                     {"__module__", module_name, nullptr, nullptr, nullptr},
                                     {}};
  static PyMethodDef methods[] = {{"__reduce__", by_name, METH_NOARGS, nullptr}, {}};
  static PyType_Slot slots[] = {{Py_tp_call, slot(PyVectorcall_Call)},
                                {Py_tp_dealloc, slot(deallocate_boundary)},
                                {Py_tp_traverse, slot(traverse)},
                                {Py_tp_clear, slot(clear)},
                                {Py_tp_getattro, slot(attribute)},
                                {Py_tp_descr_get, slot(bound)},
                                {Py_tp_repr, slot(shown_boundary)},
                                {Py_tp_members, members},
                                {Py_tp_getset, properties},
                                {Py_tp_methods, methods},
                                {}};
  static PyType_Spec spec = {"plait._core.Boundary", sizeof(BoundaryObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             slots};
  return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

PyTypeObject* boundary_type() {
  static PyTypeObject* const type = make_boundary_type();
  return type;
}

}  // namespace

void bind_boundary(nb::module_& module) {
  module.def(
      "_boundary", [](nb::object function) { return nb::steal(wrapped(std::move(function))); },
      nb::arg("function"));
  module.attr("_Boundary") = nb::handle(reinterpret_cast<PyObject*>(boundary_type()));
}

}  // namespace plait::python
