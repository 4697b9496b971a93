// The children of a node of a tree, and a node from its children.
#pragma once

#include "python/bindings/trees/structure.h"

namespace plait::python {

// Trees may be deeper than the stack, or infinite if a list contains itself.
class DeepCall {
 public:
  DeepCall() {
    if (Py_EnterRecursiveCall(" in a tree of tensors") != 0) throw nb::python_error();
  }
  DeepCall(const DeepCall&) = delete;
  DeepCall& operator=(const DeepCall&) = delete;
  ~DeepCall() { Py_LeaveRecursiveCall(); }
};

// The children of a node, with their names unless these are indices.
struct Children {
  nb::object names;
  Objects values;
};
Children children_of(nb::handle value, Structure::Kind kind);
nb::object new_node(Structure::Kind kind, const nb::object& type, const nb::object& names,
                    const Objects& children);

// The attributes of an object.
nb::object dict_of(nb::handle object);
// Keys of dicts are told apart by their class, too: 1 is not True.
bool is_same_name(PyObject* a, PyObject* b);

// A new reference, or the exception that was raised instead.
inline nb::object checked(PyObject* made) {
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

}  // namespace plait::python
