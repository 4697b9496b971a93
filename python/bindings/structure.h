// Trees of Python's values: lists, tuples, named tuples, dicts, dataclasses, Modules, records, and
// what is registered (plait.tree.register).
// Their leaves are tensors and arrays; all else, None and numbers among it, is constant.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "python/bindings/bindings.h"

namespace plait::python {

using Objects = std::vector<nb::object>;

// A tree without its leaves. Equal ones have leaves in the same places, and the same constants.
class Structure {
 public:
  enum class Kind : uint8_t {
    leaf,
    constant,
    sequence,
    deque,  // with its greatest length as the last child
    named_tuple,
    dict,
    record,
    module,  // and other objects of attributes
    dataclass,
    registered  // its first child is what its flatten calls static, a constant
  };

  // Of a tree whose leaves are appended; or of one leaf.
  Structure(nb::handle tree, Objects& leaves, bool numbers_are_leaves = false);
  Structure() : nodes_{Node{.kind = Kind::leaf}}, size_(1) {}

  // Appends the leaves of another tree of this structure. Where it is of another one, or that takes
  // more than a glance, it is false, and some may have been appended.
  bool finds_leaves(nb::handle tree, Objects& leaves) const;

  size_t size() const { return size_; }  // how many leaves
  bool is_leaf() const { return nodes_.size() == 1 && size_ == 1; }
  nb::object unflatten(std::span<const nb::object> leaves) const;
  std::vector<std::string> paths() const;  // of the leaves: "blocks.3.norm1.scale"
  // Constants, but numbers, texts, classes and functions that keep nothing, with their paths.
  std::vector<std::pair<std::string, nb::object>> objects() const;
  std::string text() const;  // with * for each leaf
  bool equals(const Structure& other) const;
  // TypeError where a constant cannot be hashed, which names its path behind the prefix.
  Py_hash_t hash(const std::string& prefix = "") const;

  // For Python's collector of cycles.
  int visit(visitproc visitor, void* data) const;
  void clear() { nodes_.clear(); }

 private:
  struct Node {
    Kind kind;
    size_t count = 0;       // of its children, which follow, each with its own
    nb::object type = {};   // what it is made with again; of constants their class
    nb::object names = {};  // a tuple of the names of children, where they have some
    nb::object constant = {};
    nb::object frozen = {};  // what it was, where it is a set
  };
  class Walk;

  void add(nb::handle tree, Objects& leaves, bool numbers_are_leaves);
  void add_constant(nb::handle value);
  bool finds(size_t& node, nb::handle tree, Objects& leaves) const;

  std::vector<Node> nodes_;
  size_t size_ = 0;
};

}  // namespace plait::python
