#include "python/bindings/trees/structure.h"

#include <algorithm>
#include <unordered_map>

#include "plait/core/error.h"

#include "python/bindings/trees/constants.h"
#include "python/bindings/trees/node_children.h"
#include "python/bindings/trees/node_kinds.h"

namespace plait::python {
namespace {

std::string path_below(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

// Escapes would be the same as those of another key.
std::string name_of_key(nb::handle key) {
  const nb::str text(key);
  if (PyUnicode_AsUTF8AndSize(text.ptr(), nullptr) != nullptr) return utf8_of(text);
  PyErr_Clear();
  throw ValueError("the key {} of a dict is not UTF-8: it has a lone surrogate",
                   utf8_of(nb::repr(text)));
}

// True if a function of Python's keeps something besides its code: its closure or its defaults.
bool keeps_values(PyObject* function) {
  return PyFunction_GetClosure(function) != nullptr ||
         PyFunction_GetDefaults(function) != nullptr ||
         PyFunction_GetKwDefaults(function) != nullptr;
}

}  // namespace

// Appends the nodes of a tree, in pre-order, and its leaves.
class Structure::Addition {
 public:
  Addition(std::vector<Node>& nodes, Objects& leaves, bool numbers_are_leaves)
      : nodes_(nodes), leaves_(leaves), numbers_are_leaves_(numbers_are_leaves) {}

  void add(nb::handle tree) {
    const Kind kind = kind_of(tree.ptr(), numbers_are_leaves_);
    if (kind == Kind::constant) return add_constant(tree);
    const size_t place = nodes_.size();
    nodes_.push_back({.kind = kind});
    if (kind == Kind::leaf) {
      leaves_.push_back(nb::borrow(tree));
      return;
    }
    nodes_[place].type = nb::borrow(reinterpret_cast<PyObject*>(Py_TYPE(tree.ptr())));
    const DeepCall deeper;
    const size_t leaves_before = leaves_.size();
    add_children(place, children_of(tree, kind));
    note(tree.ptr(), place, leaves_.size() - leaves_before);
  }

 private:
  struct Seen {
    size_t place, nodes, leaves;
  };

  void add_children(size_t place, const Children& children) {
    nodes_[place].count = children.values.size();
    nodes_[place].names = children.names;
    size_t next = 0;
    if (nodes_[place].kind == Kind::registered) add_constant(children.values[next++]);
    for (; next < children.values.size(); ++next) add(children.values[next]);
  }

  void add_constant(nb::handle value) {
    nodes_.push_back({.kind = Kind::constant,
                      .type = nb::borrow(reinterpret_cast<PyObject*>(Py_TYPE(value.ptr()))),
                      .constant = nb::borrow(value)});
    if (PySet_Check(value.ptr())) nodes_.back().frozen = checked(PyFrozenSet_New(value.ptr()));
  }

  // Notes an object that code may change, and which holds tensors. User code that lists children
  // may give others each time.
  void note(PyObject* value, size_t place, size_t leaves) {
    const Kind kind = nodes_[place].kind;
    const bool may_change = kind == Kind::module || kind == Kind::dict || PyList_Check(value);
    if (!may_change || leaves == 0) return;
    const Seen found{place, nodes_.size() - place, leaves};
    const auto [first, is_new] = seen_.emplace(value, found);
    const Seen& known = first->second;
    if (!is_new && known.nodes == found.nodes && known.leaves == found.leaves) {
      nodes_[place].same_as = known.place;
    }
  }

  std::vector<Node>& nodes_;
  Objects& leaves_;
  const bool numbers_are_leaves_;
  std::unordered_map<PyObject*, Seen> seen_;
};

Structure::Structure(nb::handle tree, Objects& leaves, bool numbers_are_leaves) {
  const size_t before = leaves.size();
  Addition(nodes_, leaves, numbers_are_leaves).add(tree);
  size_ = leaves.size() - before;
}

// ---- Building a tree from other leaves.

// Iterates over the nodes in pre-order.
class Structure::Walk {
 public:
  explicit Walk(const Structure& structure) : nodes_(structure.nodes_) {
    for (const Node& node : nodes_) {
      if (node.same_as != kNone) made_.try_emplace(node.same_as);
    }
  }

  nb::object unflatten(std::span<const nb::object> leaves) {
    const size_t place = next_;
    const Node& node = nodes_[next_++];
    if (node.kind == Kind::leaf) return leaves[leaf_++];
    if (node.kind == Kind::constant) return node.constant;
    if (node.same_as != kNone) {
      if (nb::object same = made_again(node, leaves); same.is_valid()) return same;
    }
    const DeepCall deeper;
    const size_t leaf = leaf_;
    nb::object made = new_value(node, leaves);
    if (const auto shared = made_.find(place); shared != made_.end()) {
      shared->second = {made, next_ - place, leaf, leaf_ - leaf};
    }
    return made;
  }

  // Calls visit(node, path) for each node, parents first.
  template <class Visit>
  void visit_all(const std::string& path, const Visit& visit) {
    const Node& node = nodes_[next_++];
    visit(node, path);
    if (is_end(node)) return;
    for (size_t i = 0; i < node.count; ++i) {
      visit_all(path_below(path, name_of(node, i)), visit);
    }
  }
  // The same, for those without children.
  template <class Visit>
  void visit_ends(const std::string& path, const Visit& visit) {
    visit_all(path, [&](const Node& node, const std::string& its) {
      if (is_end(node)) visit(node, its);
    });
  }

  std::string text() {
    const Node& node = nodes_[next_++];
    if (node.kind == Kind::leaf) return "*";
    if (node.kind == Kind::constant) return utf8_of(nb::repr(node.constant));
    std::string inside;
    for (size_t i = 0; i < node.count; ++i) {
      if (i > 0) inside += ", ";
      if (node.kind == Kind::dict) {
        inside += utf8_of(nb::repr(node.names[i])) + ": ";
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
  static bool is_end(const Node& node) {
    return node.kind == Kind::leaf || node.kind == Kind::constant;
  }
  // An object that is in the tree twice, as it was made at its first place.
  struct Made {
    nb::object value = {};
    size_t nodes = 0, first_leaf = 0, leaves = 0;
  };

  nb::object new_value(const Node& node, std::span<const nb::object> leaves) {
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

  // The object as it was made before, if it has the same leaves here. Else nothing.
  nb::object made_again(const Node& node, std::span<const nb::object> leaves) {
    const Made& made = made_.at(node.same_as);
    if (!made.value.is_valid()) return {};
    for (size_t i = 0; i < made.leaves; ++i) {
      if (!leaves[leaf_ + i].is(leaves[made.first_leaf + i])) return {};
    }
    next_ += made.nodes - 1;
    leaf_ += made.leaves;
    return made.value;
  }

  static std::string name_of(const Node& node, size_t i) {
    if (node.kind == Kind::registered && !node.names.is_valid()) {
      return i == 0 ? "static" : std::to_string(i - 1);
    }
    if (!node.names.is_valid()) return std::to_string(i);
    return name_of_key(nb::object(node.names[i]));
  }

  const std::vector<Node>& nodes_;
  std::unordered_map<size_t, Made> made_;  // by the number of nodes before the first
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

std::vector<Structure::Part> Structure::parts() const {
  std::vector<Part> parts;
  Walk(*this).visit_all("", [&](const Node& node, const std::string& path) {
    if (node.kind == Kind::leaf) {
      parts.push_back({path, Role::leaf, nb::none()});
    } else if (node.kind == Kind::constant) {
      parts.push_back({path, Role::constant, node.constant});
    } else {
      parts.push_back({path, Role::node, node.type});
    }
  });
  return parts;
}

std::string Structure::text() const { return Walk(*this).text(); }

std::vector<std::pair<size_t, size_t>> Structure::objects_twice() const {
  std::vector<std::pair<size_t, size_t>> found;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].same_as != kNone) found.emplace_back(i, nodes_[i].same_as);
  }
  return found;
}

std::vector<size_t> Structure::first_leaves() const {
  std::vector<size_t> first_of_node(nodes_.size()), first;
  for (size_t i = 0; i < nodes_.size(); ++i) first_of_node[i] = i;
  for (const auto& [place, same] : objects_twice()) {
    // The nodes there come before, and so they have their first places already.
    for (size_t i = 0; i < node_count(place); ++i)
      first_of_node[place + i] = first_of_node[same + i];
  }
  std::vector<size_t> leaf_of_node(nodes_.size());
  for (size_t i = 0, leaves = 0; i < nodes_.size(); ++i) {
    leaf_of_node[i] = leaves;
    if (nodes_[i].kind != Kind::leaf) continue;
    first.push_back(leaf_of_node[first_of_node[i]]);
    ++leaves;
  }
  return first;
}

size_t Structure::node_count(size_t place) const {
  size_t end = place + 1;
  for (size_t open = nodes_[place].count; open > 0; ++end) open += nodes_[end].count - 1;
  return end - place;
}

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
                      class_name_of(a.constant), utf8_of(error.value()))
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

int Structure::visit(visitproc visitor, void* data) const {
  for (const Node& node : nodes_) {
    for (const nb::object* each : {&node.type, &node.names, &node.constant, &node.frozen}) {
      if (!each->is_valid()) continue;
      if (const int status = visitor(each->ptr(), data); status != 0) return status;
    }
  }
  return 0;
}

}  // namespace plait::python
