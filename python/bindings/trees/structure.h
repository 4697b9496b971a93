// Trees of Python values: lists, tuples, named tuples, dicts, dataclasses, Modules, records, and
// registered classes (plait.tree.register). Their leaves are tensors and arrays; everything else,
// such as None and numbers, is constant.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "python/bindings/bindings.h"

namespace plait::python {

using Objects = std::vector<nb::object>;

// The structure of a tree without its leaves. Equal structures have leaves at the same places, and
// equal constants.
class Structure {
 public:
  enum class Kind : uint8_t {
    leaf,
    constant,
    sequence,
    deque,  // its maximum length is the last child
    named_tuple,
    dict,
    record,
    module,  // also other objects with attributes
    dataclass,
    registered  // the first child is the static part, a constant
  };

  // The structure of a tree whose leaves are appended, or of a single leaf.
  Structure(nb::handle tree, Objects& leaves, bool numbers_are_leaves = false);
  Structure() : nodes_{Node{.kind = Kind::leaf}}, size_(1) {}

  // Appends the leaves of another tree with this structure. Returns false if the structure differs,
  // or if a quick comparison cannot decide; some leaves may have been appended then.
  bool finds_leaves(nb::handle tree, Objects& leaves) const;

  size_t size() const { return size_; }  // number of leaves
  bool is_leaf() const { return nodes_.size() == 1 && size_ == 1; }
  nb::object unflatten(std::span<const nb::object> leaves) const;
  std::vector<std::string> paths() const;  // paths of the leaves: "blocks.3.norm1.scale"
  // Constants, but numbers, texts, classes and functions that keep nothing, with their paths.
  std::vector<std::pair<std::string, nb::object>> objects() const;
  // All parts, with their paths: the class of a node, the value of a constant, nothing for a leaf.
  enum class Role : uint8_t { leaf, node, constant };
  struct Part {
    std::string path;
    Role role;
    nb::object object;
  };
  std::vector<Part> parts() const;
  std::string text() const;  // with * for each leaf
  bool equals(const Structure& other) const;
  // Throws a TypeError if a constant is not hashable; it names the path, after the prefix.
  Py_hash_t hash(const std::string& prefix = "") const;

  // For Python's garbage collector.
  int visit(visitproc visitor, void* data) const;
  void clear() { nodes_.clear(); }

 private:
  struct Node {
    Kind kind;
    size_t count = 0;       // number of children, which follow in pre-order
    nb::object type = {};   // the class to construct again; for a constant its class
    nb::object names = {};  // a tuple of the children's names, if they have names
    nb::object constant = {};
    nb::object frozen = {};  // the original value, if it is a set
  };
  class Walk;

  void add(nb::handle tree, Objects& leaves, bool numbers_are_leaves);
  void add_constant(nb::handle value);
  // The value of the next node, and the contents of a node that has been read
  // (structure_search.cpp).
  bool finds(size_t& next, nb::handle tree, Objects& leaves) const;
  bool finds_elements(const Node& node, size_t& next, PyObject* sequence, Objects& leaves) const;
  bool finds_entries(const Node& node, size_t& next, const nb::object& dict, Objects& leaves) const;
  bool finds_fields(const Node& node, size_t& next, PyObject* dataclass, Objects& leaves) const;
  bool finds_children(const Node& node, size_t& next, nb::handle tree, Objects& leaves) const;

  std::vector<Node> nodes_;
  size_t size_ = 0;
};

}  // namespace plait::python
