// Values of Python's that are constants of a recorded function: which are the same.
#pragma once

#include "python/bindings/bindings.h"

namespace plait::python {

// Whether they are one, or equal: of numbers by their bits. Python's exceptions are passed on.
bool are_equal(const nb::object& a, const nb::object& b);
// -1, and an exception of Python's, where it has none.
Py_hash_t hash_of_constant(PyObject* value);

}  // namespace plait::python
