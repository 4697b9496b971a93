// The value that users compute with. Either concrete, an array in memory, or traced: the result of
// an instruction in a function that is being recorded (trace.h), until that trace ends: then it is
// what the trace knew of it. Copies are cheap and share what
// they hold; nobody changes it. Records (transform/control/record.h) travel the same ways.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "plait/core/function_ref.h"
#include "plait/core/sizes/shape.h"
#include "plait/core/trees/tree.h"
#include "plait/ir/type.h"
#include "plait/ir/value.h"
#include "plait/tensor/memory/array.h"
#include "plait/tensor/scalar.h"

namespace plait {

class Tensor;
class Trace;
struct Derivation;

// Of the room `ops`, where the members that take or give them are defined (ops/indexing/index.h,
// ops/indexing/at.h, ops/effects/item.h).
class Index;
class IndexedTensor;
class Item;

struct BackwardOptions {
  bool create_graph = false;  // the gradients may be differentiated themselves
  bool keep = false;          // so that it may be called again (retain_graph)
};

// What a trace calls a value of its own. Outlives the trace, so that late use is noticed.
struct TraceScope {
  Trace* trace;  // null when the trace has ended
  std::string name;
};
struct TracedValue {
  std::shared_ptr<TraceScope> scope;
  uint32_t value = 0;
  ir::Type type;
  // What it is this time, where the trace knows (Trace::accompany): concrete, and empty until
  // somebody asks (Trace::actual).
  std::shared_ptr<Tensor> actual = nullptr;
  uint32_t piece = 0;       // of its trace (Trace::cut)
  bool is_followed = true;  // else it was recorded under no_grad
};

// A record, or the absence of one, outside of traces.
struct RecordValue {
  ir::Type type;
  ir::Value value;
};

class Tensor {
 public:
  Tensor() = default;  // no tensor yet: good for being assigned to
  explicit Tensor(Array array) : node_(new Node(std::move(array))) {}
  explicit Tensor(TracedValue value);
  explicit Tensor(RecordValue value);

  Tensor(const Tensor& other) : node_(other.node_) {
    if (node_) node_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  Tensor(Tensor&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  // Of a variable: x[0] = y would only replace what x[0] returns; x = x.at(0).set(y) is meant.
  Tensor& operator=(Tensor other) & noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Tensor() {
    if (node_ && let_go(node_->owners)) delete node_;
  }

  explicit operator bool() const { return node_ != nullptr; }
  bool is_traced() const { return node().traced != nullptr && !has_landed(*node_->traced); }
  const void* identity() const { return node_; }  // equal for copies
  // Neither a record nor, in a trace, something else that is none.
  bool is_array() const { return is_plain_array() || is_array_otherwise(); }

  // How it came to be, where somebody wants its derivative (derivation.h); null otherwise.
  const std::shared_ptr<const Derivation>& derivation() const { return node().derivation; }
  // The same numbers, or the same traced value, with another derivation.
  Tensor with_derivation(std::shared_ptr<const Derivation> derivation) const;

  DType dtype() const;
  Shape shape() const;
  Dim shape(int64_t axis) const;  // negative: from the end
  size_t rank() const;
  ir::Type type() const;

  // The numbers. Of a traced tensor, if its trace knows them: the host code that asks is part of
  // what it does from then on (Companion::on_read). Else a ValueError.
  const Array& array() const {
    if (is_plain_array()) [[likely]]
      return node_->array;
    return array_otherwise();
  }
  const TracedValue& traced() const { return *node().traced; }
  const ir::Value& record() const;  // ValueError likewise, and for an array
  // The array moved out where this is its only owner, so that its memory may be used again.
  Array take_array() &&;

  // Whether its one element is not 0. A trace that knows holds where the answer is the same, and
  // only there.
  bool truth() const;
  // Of one element; converted as a cast does.
  template <class T>
  T item() const {
    if constexpr (std::same_as<T, bool>) {
      if (is_traced()) return truth();
    }
    T value;
    store_element(kDTypeOf<T>, array().element(), reinterpret_cast<std::byte*>(&value));
    return value;
  }
  // The same for host code that may be jitted: comparing it does not take the number out.
  Item item() const;
  std::string text() const;  // the numbers, as NumPy prints them, and the type

  // The tape habit (transform/derivatives/tape.h). The same numbers, as the beginning of what a
  // tape follows.
  Tensor requires_grad() const;
  // Sends a cotangent, or 1 where it is a number, back to all beginnings that this was made of.
  void backward(const BackwardOptions& options = {}) const;
  void backward(const Tensor& cotangent, const BackwardOptions& options = {}) const;
  Tensor grad() const;  // all that arrived at this beginning; empty when nothing did
  void zero_grad() const;
  Tensor detach() const;  // as if it were made of nothing

  // As NumPy indexes: x[0], x[{Slice{1, 3}, ellipsis, new_axis, numbers, mask}]. Integers and
  // slices give views. IndexError for what is not there.
  Tensor operator[](const Index& index) const;
  Tensor operator[](std::initializer_list<Index> index) const;
  // The tensor with some elements changed: x.at(0).set(5), x.at({rows, ellipsis}).add(y). Written
  // in place where x is given away and nobody else has it: x = std::move(x).at(0).set(5).
  IndexedTensor at(const Index& index) const&;
  IndexedTensor at(const Index& index) &&;
  IndexedTensor at(std::initializer_list<Index> index) const&;
  IndexedTensor at(std::initializer_list<Index> index) &&;

 private:
  struct Node {
    explicit Node(Array numbers) : array(std::move(numbers)) {}
    explicit Node(TracedValue value) : traced(std::make_unique<TracedValue>(std::move(value))) {}
    explicit Node(RecordValue value) : record(std::make_unique<RecordValue>(std::move(value))) {}

    // What is asked most, and what an array begins with, share a line of the cache.
    std::atomic<uint32_t> owners{1};
    std::unique_ptr<TracedValue> traced;
    std::unique_ptr<RecordValue> record;
    std::shared_ptr<const Derivation> derivation;
    Array array;
  };
  const Node& node() const {
    if (!node_) refuse_empty();
    return *node_;
  }
  bool is_plain_array() const { return !node().traced && !node_->record; }
  // Whether its trace has ended, and knew what it is.
  static bool has_landed(const TracedValue& traced);
  const Node& landed() const;  // that of what it is, if so; else its own
  [[noreturn]] static void refuse_empty();
  bool is_array_otherwise() const;
  const Array& array_otherwise() const;
  const Array& array_at_present() const;

  Node* node_ = nullptr;
};

template <>
inline constexpr bool is_tree_leaf<Tensor> = true;

using TensorFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

// Trees (core/trees/tree.h) whose leaves are tensors.

template <class Tree>
void for_each_tensor(Tree& tree, FunctionRef<void(trees::LeafOf<Tensor, Tree>&)> visit) {
  trees::for_each_plain_leaf<Tensor>(tree, visit);
}

// With its path in the tree.
template <class Tree>
void for_each_leaf(Tree& tree,
                   FunctionRef<void(std::string_view, trees::LeafOf<Tensor, Tree>&)> visit) {
  trees::for_each_leaf<Tensor>(tree, visit);
}

// In the order of the tree.
template <class Tree>
std::vector<Tensor> tensors_of(const Tree& tree) {
  std::vector<Tensor> tensors;
  for_each_tensor(tree, [&](const Tensor& tensor) { tensors.push_back(tensor); });
  return tensors;
}

// The tree with these tensors in the place of its own, in the same order. ValueError where their
// number differs.
template <class Tree>
Tree with_tensors(Tree like, std::span<const Tensor> tensors) {
  trees::assign_leaves<Tensor>(like, tensors);
  return like;
}

// The tree with f(tensor) in the place of each.
template <class Tree, class F>
Tree map_leaves(Tree tree, F&& f) {
  return trees::map_leaves<Tensor>(std::move(tree), f);
}
// The first tree with f(tensor, tensor of b in the same place) in the place of each. ValueError
// unless the trees have the same structure.
template <class F, class Tree>
Tree map_leaves(F&& f, Tree a, const Tree& b) {
  return trees::map_leaves<Tensor>(f, std::move(a), b);
}

// Its structure: the tensors are empty.
template <class Tree>
Tree without_tensors(Tree tree) {
  for_each_tensor(tree, [](Tensor& tensor) { tensor = Tensor(); });
  return tree;
}

// The text().
std::ostream& operator<<(std::ostream& out, const Tensor& x);

}  // namespace plait

// {} is the text(); what stands behind a colon, as in {:.3f}, is for the number of a scalar.
template <>
struct fmt::formatter<plait::Tensor> {
  constexpr auto parse(format_parse_context& context) -> format_parse_context::iterator {
    auto end = context.begin();
    while (end != context.end() && *end != '}') ++end;
    spec_ = std::string_view(context.begin(), static_cast<size_t>(end - context.begin()));
    return end;
  }
  format_context::iterator format(const plait::Tensor& x, format_context& context) const;

 private:
  std::string_view spec_;
};
