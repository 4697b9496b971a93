// Visitor of a tree (tree.h): receives each part, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plait/core/trees/tree_key.h"

namespace plait {

class TreeVisitor {
 public:
  virtual void leaf(void* leaf, const TreeType& type) = 0;
  // Called before the parts of everything that has parts; TreeKey documents the word.
  virtual void begin(const TreeType&, uint64_t /*word*/) {}
  virtual void fixed(const StaticValue&) {}  // a static value
  virtual void key(const StaticValue&) {}    // before each value of a map

  // True for leaves in a Buffers (tree.h).
  bool in_buffers() const { return buffers_around_ > 0; }
  void enter_buffers() { ++buffers_around_; }
  void leave_buffers() { --buffers_around_; }

  // Called around each part that has a name or a number, if wants_names(); pop receives what
  // push returned.
  bool wants_names() const { return asks_for_names_; }
  virtual size_t push(std::string_view) { return 0; }
  virtual size_t push(size_t) { return 0; }
  virtual void pop(size_t) {}

 protected:
  explicit TreeVisitor(bool wants_names = false) : asks_for_names_(wants_names) {}
  ~TreeVisitor() = default;

 private:
  const bool asks_for_names_;
  int buffers_around_ = 0;
};

namespace trees {

// A visitor that knows the path of the current part.
class PathVisitor : public TreeVisitor {
 public:
  std::string_view path() const { return path_.text(); }
  size_t push(std::string_view name) override { return path_.push(name); }
  size_t push(size_t index) override { return path_.push(index); }
  void pop(size_t length) override { path_.pop(length); }

 protected:
  PathVisitor() : TreeVisitor(true) {}
  ~PathVisitor() = default;

 private:
  TreePath path_;
};

struct LeafCounter final : TreeVisitor {
  void leaf(void*, const TreeType&) override { ++count; }
  size_t count = 0;
};

struct LeafPaths final : PathVisitor {
  void leaf(void*, const TreeType&) override { paths.emplace_back(path()); }
  std::vector<std::string> paths;
};

enum class Statics { count, do_not_count };  // do_not_count: all static values count as equal

// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): visitors are on the stack
class KeyVisitor : public TreeVisitor {
 public:
  explicit KeyVisitor(Statics statics = Statics::count) : statics_(statics) {}
  void leaf(void*, const TreeType& type) override { builder_.add(type); }
  void begin(const TreeType& type, uint64_t word) override { builder_.add(type, word); }
  void fixed(const StaticValue& value) override;
  void key(const StaticValue& value) override { builder_.add(value); }
  TreeKey finish() { return std::move(builder_).finish(); }

 private:
  const Statics statics_;
  TreeKeyBuilder builder_;
};

[[noreturn]] void refuse_leaf(const TreeType& found, const TreeType& wanted);
[[noreturn]] void refuse_leaf_count(size_t in_tree, size_t given);
[[noreturn]] void refuse_structure(const TreeKey& a, const TreeKey& b);

}  // namespace trees
}  // namespace plait
