#include "python/bindings/trees/registered_classes.h"

#include <unordered_map>

#include "plait/core/error.h"

namespace plait::python {
namespace {

using Registry = std::unordered_map<PyTypeObject*, Registered>;
Registry& registry() {
  static auto& classes = *new Registry;  // lives as long as the module
  return classes;
}

}  // namespace

const Registered* registered_as(PyTypeObject* type) {
  if (registry().empty()) return nullptr;
  const auto found = registry().find(type);
  return found == registry().end() ? nullptr : &found->second;
}

nb::tuple Registered::flattened(nb::handle value) const {
  const nb::object flat = flatten(value);
  if (!nb::isinstance<nb::tuple>(flat) || nb::len(flat) != 2) {
    throw TypeError("tree.register: flatten of {} returns {}, expected (children, static)",
                    class_name_of(value), utf8_of(nb::repr(flat)));
  }
  const nb::object children = flat[nb::int_(0)];
  if (PyDict_Check(children.ptr()) == 0 && !is_sequence(children)) {
    throw TypeError(
        "tree.register: flatten of {} returns {} as children, expected a list or a dict",
        class_name_of(value), class_name_of(children));
  }
  return nb::borrow<nb::tuple>(flat);
}

nb::object Registered::made(const nb::object& fixed, nb::handle names,
                            std::span<const nb::object> children) const {
  if (!names.is_valid()) {
    nb::list parts;
    for (const nb::object& each : children) parts.append(each);
    return unflatten(fixed, nb::tuple(parts));
  }
  nb::dict parts;
  for (size_t i = 0; i < children.size(); ++i) parts[nb::object(names[nb::int_(i)])] = children[i];
  return unflatten(fixed, parts);
}

void bind_registered_classes(nb::module_& module) {
  module.def(
      "_register_class",
      [](nb::handle cls, nb::object flatten, nb::object unflatten) {
        registry()[reinterpret_cast<PyTypeObject*>(cls.inc_ref().ptr())] = {std::move(flatten),
                                                                            std::move(unflatten)};
      },
      nb::arg("cls"), nb::arg("flatten").none(), nb::arg("unflatten").none());
}

}  // namespace plait::python
