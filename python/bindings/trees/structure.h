// Trees of Python values: lists, tuples, named tuples, dicts, dataclasses, Modules, records, and
// registered classes (plait.tree.register). Their leaves are tensors and arrays; everything else,
// such as None and numbers, is constant.
#pragma once

#include <cstdint>
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
  // Modules, lists and dicts that are in the tree twice, such as a layer with two names: (place,
  // first place), by the number of nodes before. `unflatten` makes one of them, if its leaves are
  // the same.
  std::vector<std::pair<size_t, size_t>> objects_twice() const;
  // For each leaf, the one at the first place of its object.
  std::vector<size_t> first_leaves() const;
  bool equals(const Structure& other) const;  // whatever objects are in them twice
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
    size_t same_as = kNone;  // the place of an object that is in the tree already
  };
  static constexpr size_t kNone = SIZE_MAX;
  class Addition;
  class Walk;
  class Search;

  size_t node_count(size_t place) const;  // nodes of the part whose root is there

  std::vector<Node> nodes_;
  size_t size_ = 0;
};

}  // namespace plait::python
