// User classes that are registered as trees (plait.tree.register).
#pragma once

#include <span>

#include "python/bindings/bindings.h"

namespace plait::python {

struct Registered {
  nb::object flatten, unflatten;  // None: the attributes are the children, as for a Module

  bool by_attributes() const { return flatten.is_none(); }
  // Returns (children, static), where the children are a sequence or a dict.
  nb::tuple flattened(nb::handle value) const;
  // Creates an instance from the static part, and children with names if flatten returned a dict.
  nb::object made(const nb::object& fixed, nb::handle names,
                  std::span<const nb::object> children) const;
};
// Null for a class that is not registered.
const Registered* registered_as(PyTypeObject* type);

void bind_registered_classes(nb::module_& module);

}  // namespace plait::python
