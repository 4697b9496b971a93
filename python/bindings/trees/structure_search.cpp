// Finding the leaves of a tree that is expected to have a structure.
#include <algorithm>

#include "python/bindings/trees/constants.h"
#include "python/bindings/trees/node_children.h"
#include "python/bindings/trees/node_kinds.h"

namespace plait::python {
namespace {

bool has_type(PyObject* value, const nb::object& type) {
  return reinterpret_cast<PyObject*>(Py_TYPE(value)) == type.ptr();
}

}  // namespace

// Goes through a tree beside the nodes.
class Structure::Search {
 public:
  Search(const std::vector<Node>& nodes, Objects& leaves) : nodes_(nodes), leaves_(leaves) {
    if (std::ranges::any_of(nodes, [](const Node& each) { return each.same_as != kNone; })) {
      seen_.resize(nodes.size());
    }
  }

  bool finds(nb::handle tree) {
    const size_t place = next_++;
    const Node& node = nodes_[place];
    PyObject* value = tree.ptr();
    if (node.kind == Kind::leaf) {
      if (!is_tensor(value) && kind_of(value, false) != Kind::leaf) return false;
      leaves_.push_back(nb::borrow(tree));
      return true;
    }
    if (node.kind == Kind::dict ? PyDict_CheckExact(value) == 0 : !has_type(value, node.type)) {
      return false;
    }
    if (node.kind == Kind::constant) {
      return are_equal(nb::borrow(tree), node.frozen.is_valid() ? node.frozen : node.constant);
    }
    if (!seen_.empty()) {
      if (node.same_as != kNone && seen_[node.same_as] != value) return false;
      seen_[place] = value;
    }
    const DeepCall deeper;
    switch (node.kind) {
      case Kind::sequence:
      case Kind::named_tuple: return finds_elements(node, value);
      case Kind::dict: return finds_entries(node, nb::borrow(tree));
      case Kind::module: return finds_entries(node, dict_of(tree));
      case Kind::record: return finds(nb::object(tree.attr("_tensor")));
      case Kind::dataclass: return finds_fields(node, value);
      default: return finds_children(node, tree);
    }
  }

 private:
  bool finds_elements(const Node& node, PyObject* sequence) {
    const auto count = static_cast<Py_ssize_t>(node.count);
    const bool is_list = PyList_Check(sequence) != 0;
    const auto size = [&] {
      return is_list ? PyList_GET_SIZE(sequence) : PyTuple_GET_SIZE(sequence);
    };
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (size() != count) return false;  // checked again: called code may have changed it
      PyObject* item = is_list ? PyList_GET_ITEM(sequence, i) : PyTuple_GET_ITEM(sequence, i);
      if (!finds(nb::borrow(item))) return false;
    }
    return size() == count;
  }

  bool finds_entries(const Node& node, const nb::object& dict) {
    const auto count = static_cast<Py_ssize_t>(node.count);
    Py_ssize_t place = 0;
    PyObject *name = nullptr, *child = nullptr;
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (PyDict_GET_SIZE(dict.ptr()) != count ||
          PyDict_Next(dict.ptr(), &place, &name, &child) == 0) {
        return false;
      }
      const nb::object held = nb::borrow(child);
      if (!is_same_name(name, PyTuple_GET_ITEM(node.names.ptr(), i))) return false;
      if (!finds(held)) return false;
    }
    return PyDict_GET_SIZE(dict.ptr()) == count;
  }

  bool finds_fields(const Node& node, PyObject* dataclass) {
    for (Py_ssize_t i = 0; i < static_cast<Py_ssize_t>(node.count); ++i) {
      const nb::object child =
          checked(PyObject_GetAttr(dataclass, PyTuple_GET_ITEM(node.names.ptr(), i)));
      if (!finds(child)) return false;
    }
    return true;
  }

  bool finds_children(const Node& node, nb::handle tree) {
    const Children children = children_of(tree, node.kind);
    if (children.values.size() != node.count ||
        children.names.is_valid() != node.names.is_valid() ||
        (node.names.is_valid() && !are_equal(children.names, node.names))) {
      return false;
    }
    return std::ranges::all_of(children.values,
                               [&](const nb::object& each) { return finds(each); });
  }

  const std::vector<Node>& nodes_;
  Objects& leaves_;
  std::vector<PyObject*> seen_;  // by node; empty if no object is in the structure twice
  size_t next_ = 0;
};

bool Structure::finds_leaves(nb::handle tree, Objects& leaves) const {
  try {
    return Search(nodes_, leaves).finds(tree);
  } catch (nb::python_error& error) {
    error.restore();
    PyErr_Clear();
    return false;  // an exception will be raised again by the detailed comparison
  }
}

}  // namespace plait::python
