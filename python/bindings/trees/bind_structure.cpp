// Structures in Python (plait.tree).
#include <algorithm>
#include <array>

#include "plait/core/error.h"

#include "python/bindings/trees/node_children.h"
#include "python/bindings/trees/node_kinds.h"
#include "python/bindings/trees/registered_classes.h"

namespace plait::python {
namespace {

int traverse_structure(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<Structure>(self)->visit(visit, arg) : 0;
}

int clear_structure(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<Structure>(self)->clear();
  return 0;
}

template <class F>
void* slot_of(F* function) {
  return reinterpret_cast<void*>(function);
}

nb::object unflattened(const Structure& structure, nb::handle given) {
  Objects leaves;
  for (const nb::handle leaf : given) leaves.push_back(nb::borrow(leaf));
  if (leaves.size() != structure.size()) {
    throw ValueError("tree.unflatten: {} leaves for a structure of {}", leaves.size(),
                     structure.size())
        .at(Location::of_caller());
  }
  return structure.unflatten(leaves);
}

// (name, value) for each child; None if the value is not a node.
nb::object list_children(nb::handle value) {
  using Kind = Structure::Kind;
  const Kind kind = kind_of(value.ptr(), false);
  if (kind == Kind::leaf || kind == Kind::constant) return nb::none();
  const Children children = children_of(value, kind);
  nb::list all;
  for (size_t i = kind == Kind::registered ? 1 : 0; i < children.values.size(); ++i) {
    const nb::object name = children.names.is_valid() ? nb::object(children.names[i]) : nb::int_(i);
    all.append(nb::make_tuple(name, children.values[i]));
  }
  return all;
}

nb::tuple paths_of(const Structure& structure) {
  nb::list paths;
  for (const std::string& path : structure.paths()) paths.append(text_to_python(path));
  return nb::tuple(paths);
}

// True if the tree has this structure and these leaves.
bool has_leaves(const Structure& structure, nb::handle tree, nb::handle leaves) {
  Objects found;
  if (!structure.finds_leaves(tree, found) || found.size() != nb::len(leaves)) return false;
  size_t i = 0;
  return std::ranges::all_of(found, [&](const nb::object& each) { return each.is(leaves[i++]); });
}

nb::list objects_of(const Structure& structure) {
  nb::list all;
  for (const auto& [path, value] : structure.objects()) {
    all.append(nb::make_tuple(text_to_python(path), value));
  }
  return all;
}

// ("leaf", path, None), ("node", path, its class) and ("constant", path, its value).
nb::list parts_of(const Structure& structure) {
  constexpr std::array<const char*, 3> kRoles = {"leaf", "node", "constant"};
  nb::list all;
  for (const Structure::Part& each : structure.parts()) {
    all.append(nb::make_tuple(kRoles[static_cast<size_t>(each.role)], text_to_python(each.path),
                              each.object));
  }
  return all;
}

// (place, first place) of each object that is in the tree already, by the number of nodes before.
nb::tuple objects_twice(const Structure& structure) {
  nb::list all;
  for (const auto& [place, first] : structure.objects_twice()) {
    all.append(nb::make_tuple(place, first));
  }
  return nb::tuple(all);
}

bool equals(const Structure& structure, nb::handle other) {
  return nb::isinstance<Structure>(other) && structure.equals(*nb::inst_ptr<Structure>(other));
}

nb::tuple flatten(nb::handle tree, bool numbers) {
  Objects leaves;
  Structure structure(tree, leaves, numbers);
  nb::list list;
  for (const nb::object& leaf : leaves) list.append(leaf);
  return nb::make_tuple(list, std::move(structure));
}

void bind_class(nb::module_& module) {
  static std::array<PyType_Slot, 3> slots = {
      PyType_Slot{Py_tp_traverse, slot_of(traverse_structure)},
      PyType_Slot{Py_tp_clear, slot_of(clear_structure)}, PyType_Slot{0, nullptr}};
  nb::class_<Structure>(module, "Structure", nb::type_slots(slots.data()),
                        "A tree without its leaves. Equal structures have leaves at the same "
                        "places, and equal static parts.")
      .def(nb::init<>())
      .def("unflatten", &unflattened, nb::arg("leaves"),
           "The tree of this structure with these leaves.")
      .def_prop_ro("paths", &paths_of,
                   "The paths of the leaves in order, such as \"blocks.3.norm1.scale\".")
      .def("_is_of", &has_leaves)
      .def("_objects", &objects_of)
      .def_prop_ro("_objects_twice", &objects_twice)
      .def_prop_ro("_first_leaves", &Structure::first_leaves)
      .def("_parts", &parts_of)
      .def("_expect_hashable",
           [](const Structure& structure, const char* prefix) { structure.hash(prefix); })
      .def("__len__", &Structure::size)
      .def("__eq__", &equals)
      .def("__hash__", [](const Structure& structure) { return structure.hash(); })
      .def("__repr__", [](const Structure& structure) { return text_to_python(structure.text()); });
}

}  // namespace

void bind_structure(nb::module_& module) {
  bind_class(module);
  module.def("_flatten", &flatten, nb::arg("tree").none(), nb::arg("numbers") = false);
  module.def("_children", &list_children, nb::arg("value").none());
  bind_registered_classes(module);
  module.def("_declare_in_trees",
             [](const char* what, nb::handle cls) { declare_in_trees(what, cls); });
}

}  // namespace plait::python
