// Which kind of node of a tree a Python value is.
#pragma once

#include "python/bindings/trees/structure.h"

namespace plait::python {

Structure::Kind kind_of(PyObject* value, bool numbers_are_leaves);

bool is_tensor(PyObject* value);
bool is_size(PyObject* value);
bool is_number(PyObject* value);
// The class of objects with attributes that types.SimpleNamespace is.
PyTypeObject* simple_namespace();

// Declares a class of the package whose values are nodes with one tensor ("record") or with their
// attributes ("module"), or leaves ("leaf").
void declare_in_trees(std::string_view what, nb::handle cls);

}  // namespace plait::python
