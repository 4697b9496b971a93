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
  switch (node.kind) {
    case Kind::sequence:
    case Kind::named_tuple: return finds_elements(node, next, value, leaves);
    case Kind::dict: return finds_entries(node, next, nb::borrow(tree), leaves);
    case Kind::module: return finds_entries(node, next, dict_of(tree), leaves);
    case Kind::record: return finds(next, nb::object(tree.attr("_tensor")), leaves);
    case Kind::dataclass: return finds_fields(node, next, value, leaves);
    default: return finds_children(node, next, tree, leaves);
  }
}

bool Structure::finds_elements(const Node& node, size_t& next, PyObject* sequence,
                               Objects& leaves) const {
  const auto count = static_cast<Py_ssize_t>(node.count);
  const bool is_list = PyList_Check(sequence) != 0;
  const auto size = [&] {
    return is_list ? PyList_GET_SIZE(sequence) : PyTuple_GET_SIZE(sequence);
  };
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (size() != count) return false;  // checked again: called code may have changed it
    PyObject* item = is_list ? PyList_GET_ITEM(sequence, i) : PyTuple_GET_ITEM(sequence, i);
    if (!finds(next, nb::borrow(item), leaves)) return false;
  }
  return size() == count;
}

bool Structure::finds_entries(const Node& node, size_t& next, const nb::object& dict,
                              Objects& leaves) const {
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
    if (!finds(next, held, leaves)) return false;
  }
  return PyDict_GET_SIZE(dict.ptr()) == count;
}

bool Structure::finds_fields(const Node& node, size_t& next, PyObject* dataclass,
                             Objects& leaves) const {
  for (Py_ssize_t i = 0; i < static_cast<Py_ssize_t>(node.count); ++i) {
    const nb::object child =
        checked(PyObject_GetAttr(dataclass, PyTuple_GET_ITEM(node.names.ptr(), i)));
    if (!finds(next, child, leaves)) return false;
  }
  return true;
}

bool Structure::finds_children(const Node& node, size_t& next, nb::handle tree,
                               Objects& leaves) const {
  const Children children = children_of(tree, node.kind);
  if (children.values.size() != node.count || children.names.is_valid() != node.names.is_valid() ||
      (node.names.is_valid() && !are_equal(children.names, node.names))) {
    return false;
  }
  return std::ranges::all_of(children.values,
                             [&](const nb::object& each) { return finds(next, each, leaves); });
}

}  // namespace plait::python
