// Equality of Python values that are constants of a recorded function.
#pragma once

#include "python/bindings/bindings.h"

namespace plait::python {

// True if they are identical or equal; numbers are compared by their bits. Python exceptions
// propagate.
bool are_equal(const nb::object& a, const nb::object& b);
// -1, with a Python exception set, if it cannot be hashed.
Py_hash_t hash_of_constant(PyObject* value);

}  // namespace plait::python
