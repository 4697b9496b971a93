// Classes of users that are trees (plait.tree.register).
#pragma once

#include <span>

#include "python/bindings/bindings.h"

namespace plait::python {

struct Registered {
  nb::object flatten, unflatten;  // None: the attributes are the children, as those of a Module

  bool by_attributes() const { return flatten.is_none(); }
  // (children, static), where the children are a sequence or a dict.
  nb::tuple flattened(nb::handle value) const;
  // An instance again: of what is static, and children with names where flatten gave a dict.
  nb::object made(const nb::object& fixed, nb::handle names,
                  std::span<const nb::object> children) const;
};
// Null for any other class.
const Registered* registered_as(PyTypeObject* type);

void bind_registered_classes(nb::module_& module);

}  // namespace plait::python
