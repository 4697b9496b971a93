#include "python/bindings/trees/structure.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "plait/core/error.h"

#include "python/bindings/trees/constants.h"
#include "python/bindings/trees/registered_classes.h"

namespace plait::python {
namespace {

// The package's classes that determine the kind of a value. They live as long as the module.
struct TreeClasses {
  PyTypeObject *leaf = nullptr, *record = nullptr, *module = nullptr;
};
TreeClasses tree_classes;

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

nb::object checked(PyObject* made) {
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

bool is_of(PyObject* value, PyTypeObject* cls) {
  return cls != nullptr && PyType_IsSubtype(Py_TYPE(value), cls) != 0;
}

bool has_type(PyObject* value, const nb::object& type) {
  return reinterpret_cast<PyObject*>(Py_TYPE(value)) == type.ptr();
}

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

Structure::Kind kind_of(PyObject* value, bool numbers_are_leaves) {
  using Kind = Structure::Kind;
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
    return PyObject_HasAttrString(value, "_fields") != 0 ? Kind::named_tuple : Kind::sequence;
  }
  if (is_of(value, tree_classes.module)) return Kind::module;
  if (is_of(value, tree_classes.record)) return Kind::record;
  if (is_namespace(value)) return Kind::module;
  if (is_deque(value)) return Kind::deque;
  if (is_of(value, tree_classes.leaf) ||
      (numbers_are_leaves && (is_item(value) || is_size(value))) ||
      PyObject_HasAttrString(value, "__array_interface__") != 0) {
    return Kind::leaf;
  }
  return PyObject_HasAttrString(value, "__dataclass_fields__") != 0 ? Kind::dataclass
                                                                    : Kind::constant;
}

// The children of a node, with their names unless these are indices.
struct Children {
  nb::object names;
  Objects values;
};

// A size used as a key becomes its number, by which it was hashed.
nb::object name_from(nb::object key) {
  if (!is_size(key.ptr())) return key;
  PyObject* number = PyNumber_Index(key.ptr());
  if (number == nullptr) PyErr_Clear();
  return number == nullptr ? key : nb::steal(number);
}

// Keys of dicts are told apart by their class, too: 1 is not True.
bool is_same_name(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyTuple_CheckExact(a) == 0) return are_equal(nb::borrow(a), nb::borrow(b));
  const Py_ssize_t count = PyTuple_GET_SIZE(a);
  if (PyTuple_GET_SIZE(b) != count) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!is_same_name(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
  }
  return true;
}

void add_entries(PyObject* dict, Children& children) {
  const nb::object items = checked(PyMapping_Items(dict));
  const Py_ssize_t count = PyList_GET_SIZE(items.ptr());
  children.names = checked(PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    const nb::handle item = PyList_GET_ITEM(items.ptr(), i);
    PyTuple_SET_ITEM(children.names.ptr(), i, name_from(nb::object(item[0])).release().ptr());
    children.values.push_back(item[1]);
  }
}

void add_fields(nb::handle dataclass, Children& children) {
  nb::list names;
  for (const nb::handle field : nb::module_::import_("dataclasses").attr("fields")(dataclass)) {
    const nb::object name = field.attr("name");
    names.append(name);
    children.values.push_back(nb::getattr(dataclass, name));
  }
  children.names = nb::tuple(names);
}

// The static part, then the children.
void add_flattened(nb::handle value, Children& children) {
  const nb::tuple flat = registered_as(Py_TYPE(value.ptr()))->flattened(value);
  children.values.push_back(flat[1]);
  const nb::object parts = flat[0];
  if (PyDict_Check(parts.ptr()) == 0) {
    for (const nb::handle each : parts) children.values.push_back(nb::borrow(each));
    return;
  }
  Children named;
  add_entries(parts.ptr(), named);
  children.names = nb::make_tuple("static") + named.names;
  children.values.insert(children.values.end(), named.values.begin(), named.values.end());
}

nb::object dict_of(nb::handle object) {
  return checked(PyObject_GenericGetDict(object.ptr(), nullptr));
}

Children children_of(nb::handle value, Structure::Kind kind) {
  using Kind = Structure::Kind;
  Children children;
  if (kind == Kind::sequence || kind == Kind::named_tuple || kind == Kind::deque) {
    const nb::object fast = checked(PySequence_Fast(value.ptr(), "a list or a tuple"));
    PyObject* const* first = PySequence_Fast_ITEMS(fast.ptr());
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.ptr()); ++i) {
      children.values.push_back(nb::borrow(first[i]));
    }
    if (kind == Kind::named_tuple) children.names = nb::tuple(value.attr("_fields"));
    if (kind == Kind::deque) children.values.push_back(value.attr("maxlen"));
  } else if (kind == Kind::dict) {
    add_entries(value.ptr(), children);
  } else if (kind == Kind::module) {
    add_entries(dict_of(value).ptr(), children);
  } else if (kind == Kind::registered) {
    add_flattened(value, children);
  } else if (kind == Kind::record) {
    children.names = nb::make_tuple("record");
    children.values.push_back(value.attr("_tensor"));
  } else {
    add_fields(value, children);
  }
  return children;
}

std::string path_below(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

nb::object new_dataclass(nb::handle type, const nb::object& names, const Objects& children) {
  const nb::object fields = type.attr("__dataclass_fields__");
  nb::dict to_init;
  Objects later;  // names and values, alternating
  for (size_t i = 0; i < children.size(); ++i) {
    const nb::object name = names[i];
    if (nb::cast<bool>(fields[name].attr("init"))) {
      to_init[name] = children[i];
    } else {
      later.insert(later.end(), {name, children[i]});
    }
  }
  nb::object made = type(**to_init);
  for (size_t i = 0; i < later.size(); i += 2) {
    if (PyObject_GenericSetAttr(made.ptr(), later[i].ptr(), later[i + 1].ptr()) != 0) {
      throw nb::python_error();
    }
  }
  return made;
}

nb::object new_registered(nb::handle type, const nb::object& names, const Objects& children) {
  nb::object own;  // without the name of the static part
  if (names.is_valid())
    own = checked(PyTuple_GetSlice(names.ptr(), 1, PyTuple_GET_SIZE(names.ptr())));
  const Registered* as = registered_as(reinterpret_cast<PyTypeObject*>(type.ptr()));
  return as->made(children[0], own, std::span(children).subspan(1));
}

nb::object new_node(Structure::Kind kind, const nb::object& type, const nb::object& names,
                    const Objects& children) {
  using Kind = Structure::Kind;
  const auto count = static_cast<Py_ssize_t>(children.size());
  const auto set_entries = [&](PyObject* dict) {
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (PyDict_SetItem(dict, PyTuple_GET_ITEM(names.ptr(), i), children[i].ptr()) != 0) {
        throw nb::python_error();
      }
    }
  };
  if (kind == Kind::dict) {
    nb::dict made;
    set_entries(made.ptr());
    return made;
  }
  if (kind == Kind::module) {
    static const nb::handle no_arguments = nb::tuple().release();
    auto* cls = reinterpret_cast<PyTypeObject*>(type.ptr());
    const bool is_simple = cls == simple_namespace();
    nb::object made = is_simple
                          ? checked(PyObject_CallNoArgs(type.ptr()))
                          : checked(PyBaseObject_Type.tp_new(cls, no_arguments.ptr(), nullptr));
    set_entries(dict_of(made).ptr());
    return made;
  }
  if (kind == Kind::dataclass) return new_dataclass(type, names, children);
  if (kind == Kind::registered) return new_registered(type, names, children);
  if (kind == Kind::deque) {
    nb::list elements;
    for (size_t i = 0; i + 1 < children.size(); ++i) elements.append(children[i]);
    return type(elements, children.back());
  }
  if (kind == Kind::record) return type.attr("_of")(children[0]);
  nb::object tuple = checked(PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyTuple_SET_ITEM(tuple.ptr(), i, nb::object(children[i]).release().ptr());
  }
  if (type.is(nb::handle(reinterpret_cast<PyObject*>(&PyTuple_Type)))) return tuple;
  if (kind == Kind::sequence) return type(tuple);
  return checked(PyObject_CallObject(type.ptr(), tuple.ptr()));
}

}  // namespace

Structure::Structure(nb::handle tree, Objects& leaves, bool numbers_are_leaves) {
  const size_t before = leaves.size();
  add(tree, leaves, numbers_are_leaves);
  size_ = leaves.size() - before;
}

void Structure::add(nb::handle tree, Objects& leaves, bool numbers_are_leaves) {
  const Kind kind = kind_of(tree.ptr(), numbers_are_leaves);
  nodes_.push_back({.kind = kind});
  if (kind == Kind::leaf) {
    leaves.push_back(nb::borrow(tree));
    return;
  }
  if (kind == Kind::constant) {
    nodes_.pop_back();
    return add_constant(tree);
  }
  nodes_.back().type = nb::borrow(reinterpret_cast<PyObject*>(Py_TYPE(tree.ptr())));
  const DeepCall deeper;
  const Children children = children_of(tree, kind);
  nodes_.back().count = children.values.size();
  nodes_.back().names = children.names;
  size_t next = 0;
  if (kind == Kind::registered) add_constant(children.values[next++]);
  for (; next < children.values.size(); ++next) {
    add(children.values[next], leaves, numbers_are_leaves);
  }
}

void Structure::add_constant(nb::handle value) {
  nodes_.push_back({.kind = Kind::constant,
                    .type = nb::borrow(reinterpret_cast<PyObject*>(Py_TYPE(value.ptr()))),
                    .constant = nb::borrow(value)});
  if (PySet_Check(value.ptr())) nodes_.back().frozen = checked(PyFrozenSet_New(value.ptr()));
}

// ---- Comparing another tree with this structure.

bool Structure::finds_leaves(nb::handle tree, Objects& leaves) const {
  size_t node = 0;
  try {
    return finds(node, tree, leaves);
  } catch (nb::python_error& error) {
    error.restore();
    PyErr_Clear();
    return false;  // an exception will be raised again by the detailed comparison
  }
}

bool Structure::finds(size_t& next, nb::handle tree, Objects& leaves) const {
  const Node& node = nodes_[next++];
  PyObject* value = tree.ptr();
  if (node.kind == Kind::leaf) {
    if (!is_tensor(value) && kind_of(value, false) != Kind::leaf) return false;
    leaves.push_back(nb::borrow(tree));
    return true;
  }
  if (node.kind == Kind::dict ? PyDict_CheckExact(value) == 0 : !has_type(value, node.type)) {
    return false;
  }
  if (node.kind == Kind::constant) {
    return are_equal(nb::borrow(tree), node.frozen.is_valid() ? node.frozen : node.constant);
  }
  const DeepCall deeper;
  const auto count = static_cast<Py_ssize_t>(node.count);
  if (node.kind == Kind::deque) {
    const Children children = children_of(tree, node.kind);
    return children.values.size() == node.count &&
           std::ranges::all_of(children.values,
                               [&](const nb::object& child) { return finds(next, child, leaves); });
  }
  if (node.kind == Kind::sequence || node.kind == Kind::named_tuple) {
    const bool is_list = PyList_Check(value) != 0;
    const auto size = [&] { return is_list ? PyList_GET_SIZE(value) : PyTuple_GET_SIZE(value); };
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (size() != count) return false;  // checked again: called code may have changed it
      PyObject* item = is_list ? PyList_GET_ITEM(value, i) : PyTuple_GET_ITEM(value, i);
      if (!finds(next, nb::borrow(item), leaves)) return false;
    }
    return size() == count;
  }
  if (node.kind == Kind::dict || node.kind == Kind::module) {
    const nb::object dict = node.kind == Kind::dict ? nb::borrow(tree) : dict_of(tree);
    Py_ssize_t place = 0;
    PyObject *name = nullptr, *child = nullptr;
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (PyDict_GET_SIZE(dict.ptr()) != count ||
          PyDict_Next(dict.ptr(), &place, &name, &child) == 0) {
        return false;
      }
      const nb::object held = nb::borrow(child);
      PyObject* expected = PyTuple_GET_ITEM(node.names.ptr(), i);
      if (!is_same_name(name, expected)) return false;
      if (!finds(next, held, leaves)) return false;
    }
    return PyDict_GET_SIZE(dict.ptr()) == count;
  }
  if (node.kind == Kind::record) return finds(next, nb::object(tree.attr("_tensor")), leaves);
  if (node.kind == Kind::registered) {
    const Children children = children_of(tree, node.kind);
    if (children.values.size() != node.count ||
        children.names.is_valid() != node.names.is_valid() ||
        (node.names.is_valid() && !are_equal(children.names, node.names))) {
      return false;
    }
    return std::ranges::all_of(children.values,
                               [&](const nb::object& each) { return finds(next, each, leaves); });
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    const nb::object child =
        checked(PyObject_GetAttr(value, PyTuple_GET_ITEM(node.names.ptr(), i)));
    if (!finds(next, child, leaves)) return false;
  }
  return true;
}

// ---- Building a tree from other leaves.

// Iterates over the nodes in pre-order.
class Structure::Walk {
 public:
  explicit Walk(const Structure& structure) : nodes_(structure.nodes_) {}

  nb::object unflatten(std::span<const nb::object> leaves) {
    const Node& node = nodes_[next_++];
    if (node.kind == Kind::leaf) return leaves[leaf_++];
    if (node.kind == Kind::constant) return node.constant;
    const DeepCall deeper;
    if (node.type.is(nb::handle(reinterpret_cast<PyObject*>(&PyList_Type)))) {
      nb::object list = checked(PyList_New(static_cast<Py_ssize_t>(node.count)));
      for (size_t i = 0; i < node.count; ++i) {
        PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i), unflatten(leaves).release().ptr());
      }
      return list;
    }
    Objects children;
    children.reserve(node.count);
    for (size_t i = 0; i < node.count; ++i) children.push_back(unflatten(leaves));
    return new_node(node.kind, node.type, node.names, children);
  }

  // Calls visit(node, path) for each node without children.
  template <class Visit>
  void visit_ends(const std::string& path, const Visit& visit) {
    const Node& node = nodes_[next_++];
    if (node.kind == Kind::leaf || node.kind == Kind::constant) {
      visit(node, path);
      return;
    }
    for (size_t i = 0; i < node.count; ++i) {
      visit_ends(path_below(path, name_of(node, i)), visit);
    }
  }

  std::string text() {
    const Node& node = nodes_[next_++];
    if (node.kind == Kind::leaf) return "*";
    if (node.kind == Kind::constant) return nb::repr(node.constant).c_str();
    std::string inside;
    for (size_t i = 0; i < node.count; ++i) {
      if (i > 0) inside += ", ";
      if (node.kind == Kind::dict) {
        inside += nb::repr(node.names[i]).c_str() + std::string(": ");
      } else if (node.names.is_valid() && node.kind != Kind::record) {
        inside += name_of(node, i) + "=";
      }
      inside += text();
    }
    if (node.kind == Kind::dict) return "{" + inside + "}";
    const std::string name = nb::cast<std::string>(node.type.attr("__name__"));
    if (name == "list") return "[" + inside + "]";
    if (name == "tuple") return "(" + inside + (node.count == 1 ? ",)" : ")");
    return name + "(" + inside + ")";
  }

 private:
  static std::string name_of(const Node& node, size_t i) {
    if (node.kind == Kind::registered && !node.names.is_valid()) return std::to_string(i - 1);
    return node.names.is_valid() ? nb::str(nb::object(node.names[i])).c_str() : std::to_string(i);
  }

  const std::vector<Node>& nodes_;
  size_t next_ = 0, leaf_ = 0;
};

nb::object Structure::unflatten(std::span<const nb::object> leaves) const {
  return Walk(*this).unflatten(leaves);
}

std::vector<std::string> Structure::paths() const {
  std::vector<std::string> paths;
  Walk(*this).visit_ends("", [&](const Node& node, const std::string& path) {
    if (node.kind == Kind::leaf) paths.push_back(path);
  });
  return paths;
}

namespace {

// Whether a function of Python's keeps something besides its code: its closure or its defaults.
bool keeps_values(PyObject* function) {
  return PyFunction_GetClosure(function) != nullptr ||
         PyFunction_GetDefaults(function) != nullptr ||
         PyFunction_GetKwDefaults(function) != nullptr;
}

}  // namespace

std::vector<std::pair<std::string, nb::object>> Structure::objects() const {
  std::vector<std::pair<std::string, nb::object>> objects;
  Walk(*this).visit_ends("", [&](const Node& node, const std::string& path) {
    if (node.kind != Kind::constant) return;
    PyObject* value = node.constant.ptr();
    const bool is_plain = value == Py_None || is_number(value) || PyUnicode_Check(value) ||
                          PyBytes_Check(value) || PyCFunction_Check(value) || PyType_Check(value) ||
                          (PyFunction_Check(value) && !keeps_values(value));
    if (!is_plain) objects.emplace_back(path, node.constant);
  });
  return objects;
}

std::string Structure::text() const { return Walk(*this).text(); }

// ---- Equality.

bool Structure::equals(const Structure& other) const {
  if (this == &other) return true;
  if (nodes_.size() != other.nodes_.size()) return false;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node &a = nodes_[i], &b = other.nodes_[i];
    const bool alike = a.kind == b.kind && a.count == b.count &&
                       (a.kind == Kind::dict || a.type.is(b.type)) &&
                       (!a.names.is_valid() || are_equal(a.names, b.names));
    if (!alike) return false;
    if (a.kind != Kind::constant) continue;
    try {
      if (!are_equal(a.frozen.is_valid() ? a.frozen : a.constant,
                     b.frozen.is_valid() ? b.frozen : b.constant)) {
        return false;
      }
    } catch (nb::python_error& error) {
      std::string path;
      const Node* wanted = &a;
      Walk(*this).visit_ends("", [&](const Node& node, const std::string& its) {
        if (&node == wanted) path = its;
      });
      throw TypeError("{} is a {}, which cannot be compared: {}", path.empty() ? "a tree" : path,
                      class_name_of(a.constant), nb::str(error.value()).c_str())
          .hint("let == of that class return a bool, or use one object in both trees");
    }
  }
  return true;
}

Py_hash_t Structure::hash(const std::string& prefix) const {
  size_t hash = nodes_.size();
  const auto add = [&](size_t more) {
    hash = (hash ^ more) * 0x9E3779B97F4A7C15ull + (hash >> 31);
  };
  for (const Node& node : nodes_) {
    add(static_cast<size_t>(node.kind) + 8 * node.count);
    if (node.kind != Kind::dict) add(reinterpret_cast<size_t>(node.type.ptr()) >> 4);
    if (node.names.is_valid()) add(nb::hash(node.names));
    if (node.kind != Kind::constant) continue;
    const Py_hash_t own =
        hash_of_constant(node.frozen.is_valid() ? node.frozen.ptr() : node.constant.ptr());
    if (own == -1) {
      PyErr_Clear();
      std::string path;
      Walk(*this).visit_ends(prefix, [&](const Node& each, const std::string& its) {
        if (&each == &node) path = its;
      });
      throw TypeError(
          "{} is a {}, which is not a tensor and cannot be hashed: jit could not detect a "
          "different one at the next call",
          path, class_name_of(node.constant))
          .at(Location::of_caller());
    }
    add(static_cast<size_t>(own));
  }
  const auto signed_hash = static_cast<Py_hash_t>(hash);
  return signed_hash == -1 ? -2 : signed_hash;
}

// ---- In Python.

int Structure::visit(visitproc visitor, void* data) const {
  for (const Node& node : nodes_) {
    for (const nb::object* each : {&node.type, &node.names, &node.constant, &node.frozen}) {
      if (!each->is_valid()) continue;
      if (const int status = visitor(each->ptr(), data); status != 0) return status;
    }
  }
  return 0;
}

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

}  // namespace

void bind_structure(nb::module_& module) {
  static std::array<PyType_Slot, 3> slots = {
      PyType_Slot{Py_tp_traverse, slot_of(traverse_structure)},
      PyType_Slot{Py_tp_clear, slot_of(clear_structure)}, PyType_Slot{0, nullptr}};
  nb::class_<Structure>(module, "Structure", nb::type_slots(slots.data()),
                        "A tree without its leaves. Equal structures have leaves at the same "
                        "places, and equal static parts.")
      .def(nb::init<>())
      .def("unflatten", &unflattened, nb::arg("leaves"),
           "The tree of this structure with these leaves.")
      .def_prop_ro(
          "paths",
          [](const Structure& structure) {
            nb::list paths;
            for (const std::string& path : structure.paths()) paths.append(nb::str(path.c_str()));
            return nb::tuple(paths);
          },
          "The paths of the leaves in order, such as \"blocks.3.norm1.scale\".")
      .def("_is_of",
           [](const Structure& structure, nb::handle tree, nb::handle leaves) {
             Objects found;
             if (!structure.finds_leaves(tree, found) || found.size() != nb::len(leaves)) {
               return false;
             }
             size_t i = 0;
             return std::ranges::all_of(
                 found, [&](const nb::object& each) { return each.is(leaves[i++]); });
           })
      .def("_objects",
           [](const Structure& structure) {
             nb::list all;
             for (const auto& [path, value] : structure.objects()) {
               all.append(nb::make_tuple(path.c_str(), value));
             }
             return all;
           })
      .def("_expect_hashable",
           [](const Structure& structure, const char* prefix) { structure.hash(prefix); })
      .def("__len__", &Structure::size)
      .def("__eq__",
           [](const Structure& structure, nb::handle other) {
             return nb::isinstance<Structure>(other) &&
                    structure.equals(*nb::inst_ptr<Structure>(other));
           })
      .def("__hash__", [](const Structure& structure) { return structure.hash(); })
      .def("__repr__",
           [](const Structure& structure) { return nb::str(structure.text().c_str()); });
  module.def(
      "_flatten",
      [](nb::handle tree, bool numbers) {
        Objects leaves;
        Structure structure(tree, leaves, numbers);
        nb::list list;
        for (const nb::object& leaf : leaves) list.append(leaf);
        return nb::make_tuple(list, std::move(structure));
      },
      nb::arg("tree").none(), nb::arg("numbers") = false);
  module.def("_children", &list_children, nb::arg("value").none());
  bind_registered_classes(module);
  // Declares the classes whose values are nodes with one tensor ("record") or with their attributes
  // ("module"), or leaves.
  module.def("_declare_in_trees", [](const std::string& what, nb::handle cls) {
    PyTypeObject*& place = what == "leaf"     ? tree_classes.leaf
                           : what == "record" ? tree_classes.record
                                              : tree_classes.module;
    place = reinterpret_cast<PyTypeObject*>(cls.inc_ref().ptr());
  });
}

}  // namespace plait::python
