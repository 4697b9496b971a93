// The value that users compute with. A tensor is either concrete, an array in memory, or traced:
// the result of an instruction in a function that is being recorded (trace.h). When the trace ends,
// a traced tensor becomes concrete if the trace knew its value. Copies are cheap and share their
// data, which is immutable. Records (transform/control/record.h) are passed as tensors too.
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

// Defined in `ops`, with the members that use them (ops/indexing/index.h, ops/indexing/at.h,
// ops/effects/item.h).
class Index;
class IndexedTensor;
class Item;

struct BackwardOptions {
  bool create_graph = false;  // the gradients can be differentiated again
  bool keep = false;          // backward may be called again (retain_graph)
};

// Identifies a trace. Outlives the trace, so that a late use of its tensors is detected.
struct TraceScope {
  Trace* trace;  // null when the trace has ended
  std::string name;
};
struct TracedValue {
  std::shared_ptr<TraceScope> scope;
  uint32_t value = 0;
  ir::Type type;
  // The concrete value in this run, if the trace computes it (Trace::execute_with); empty until it
  // is computed (Trace::actual).
  std::shared_ptr<Tensor> actual = nullptr;
  uint32_t piece = 0;         // piece of its trace (CompanionRun::cut)
  bool is_followed = true;    // false if recorded under no_grad
  Device device = {};         // where it will be, as far as the trace knows
  bool knows_device = false;  // true if it is certain to be there
  bool is_unplaced = false;   // as Tensor::is_unplaced, as far as the trace knows
};

// A record, or the absence of one, outside of a trace.
struct RecordValue {
  ir::Type type;
  ir::Value value;
};

class Tensor {
 public:
  Tensor() = default;  // empty: can only be assigned to
  explicit Tensor(Array array) : node_(new Node(std::move(array))) {}
  explicit Tensor(TracedValue value);
  explicit Tensor(RecordValue value);

  Tensor(const Tensor& other) : node_(other.node_) {
    if (node_) node_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  Tensor(Tensor&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  // To a variable only: x[0] = y would replace what x[0] returns; x = x.at(0).set(y) is meant.
  Tensor& operator=(Tensor other) & noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Tensor() {
    if (node_ && release_owner(node_->owners)) delete node_;
  }

  explicit operator bool() const { return node_ != nullptr; }
  bool is_traced() const { return node().traced != nullptr && !is_resolved(*node_->traced); }
  const void* identity() const { return node_; }  // equal for copies
  // False for records, also in a trace.
  bool is_array() const { return is_plain_array() || is_array_slow(); }

  // Its derivation, if a level follows it (derivation.h); else null.
  const std::shared_ptr<const Derivation>& derivation() const { return node().derivation; }
  // The same array or traced value, with another derivation.
  Tensor with_derivation(std::shared_ptr<const Derivation> derivation) const;

  DType dtype() const;
  Shape shape() const;
  Dim shape(int64_t axis) const;  // negative: from the end
  size_t rank() const;
  ir::Type type() const;
  // Where its elements are; the CPU for records. Within a trace that is not of jit, as far
  // as the operations say: the CPU for its arguments.
  Device device() const;
  // True if its device was not chosen (Array::is_unplaced).
  bool is_unplaced() const;

  // The array. For a traced tensor, its value in this run if the trace knows it; from then on the
  // host code that reads it is part of the record (Companion::on_read). Otherwise ValueError.
  const Array& array() const {
    if (is_plain_array()) [[likely]]
      return node_->array;
    return array_slow();
  }
  const TracedValue& traced() const { return *node().traced; }
  const ir::Value& record() const;  // ValueError as above, and for an array
  // The array, moved out if this is its only owner, so that its memory can be reused.
  Array take_array() &&;

  // True if its one element is not 0. In a trace that knows the value this adds a guard: the record
  // is valid only for the same outcome.
  bool truth() const;
  // The number in a tensor of one element; converted as by a cast.
  template <class T>
  T item() const {
    if constexpr (std::same_as<T, bool>) {
      if (is_traced()) return truth();
    }
    T value;
    store_element(kDTypeOf<T>, array().element(), reinterpret_cast<std::byte*>(&value));
    return value;
  }
  // The same for host code that may be jitted: a comparison does not read the number.
  Item item() const;
  std::string text() const;  // the elements, as NumPy prints them, and the type

  // Derivatives with the default tape (transform/derivatives/tape.h). Returns the same values as a
  // leaf that the tape records.
  Tensor requires_grad() const;
  // Runs the backward pass from this tensor to all leaves that it depends on. The cotangent is 1
  // for a scalar.
  void backward(const BackwardOptions& options = {}) const;
  void backward(const Tensor& cotangent, const BackwardOptions& options = {}) const;
  Tensor grad() const;  // accumulated cotangent of this leaf; empty if there is none
  void set_grad(const Tensor& gradient) const;
  void zero_grad() const;
  Tensor detach() const;  // treated as a constant by derivatives

  // NumPy indexing: x[0], x[{Slice{1, 3}, ellipsis, new_axis, numbers, mask}]. Integers and slices
  // return views. IndexError if an index is out of range.
  Tensor operator[](const Index& index) const;
  Tensor operator[](std::initializer_list<Index> index) const;
  // The tensor with some elements replaced: x.at(0).set(5), x.at({rows, ellipsis}).add(y). Written
  // in place if x is donated and has no other owner: x = std::move(x).at(0).set(5).
  IndexedTensor at(const Index& index) const&;
  IndexedTensor at(const Index& index) &&;
  IndexedTensor at(std::initializer_list<Index> index) const&;
  IndexedTensor at(std::initializer_list<Index> index) &&;

 private:
  struct Node {
    explicit Node(Array numbers) : array(std::move(numbers)) {}
    explicit Node(TracedValue value) : traced(std::make_unique<TracedValue>(std::move(value))) {}
    explicit Node(RecordValue value) : record(std::make_unique<RecordValue>(std::move(value))) {}

    // The most used members and the beginning of the array share a cache line.
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
  // True if its trace has ended and knew the value.
  static bool is_resolved(const TracedValue& traced);
  const Node& resolved() const;  // the node of that value, or its own
  [[noreturn]] static void refuse_empty();
  // The trace that computes this traced tensor as it records. ValueError if it only records.
  Trace& knowing_trace() const;
  bool is_array_slow() const;
  const Array& array_slow() const;
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

// The same, with the path in the tree.
template <class Tree>
void for_each_leaf(Tree& tree,
                   FunctionRef<void(std::string_view, trees::LeafOf<Tensor, Tree>&)> visit) {
  trees::for_each_leaf<Tensor>(tree, visit);
}

// The same; `is_buffer` is true of tensors in Buffers, which are not parameters.
template <class Tree>
void for_each_leaf_and_role(
    Tree& tree,
    FunctionRef<void(std::string_view, trees::LeafOf<Tensor, Tree>&, bool is_buffer)> visit) {
  trees::for_each_leaf_and_role<Tensor>(tree, visit);
}

// In the order of the tree.
template <class Tree>
std::vector<Tensor> tensors_of(const Tree& tree) {
  std::vector<Tensor> tensors;
  for_each_tensor(tree, [&](const Tensor& tensor) { tensors.push_back(tensor); });
  return tensors;
}

// The tree with its tensors replaced by these, in the same order. ValueError if their number
// differs.
template <class Tree>
Tree with_tensors(Tree like, std::span<const Tensor> tensors) {
  trees::assign_leaves<Tensor>(like, tensors);
  return like;
}

// The tree with each tensor replaced by f(tensor).
template <class Tree, class F>
Tree map_leaves(Tree tree, F&& f) {
  return trees::map_leaves<Tensor>(std::move(tree), f);
}
// The first tree with each tensor replaced by f(tensor, tensor of b at the same place). ValueError
// unless the trees have the same structure.
template <class F, class Tree>
Tree map_leaves(F&& f, Tree a, const Tree& b) {
  return trees::map_leaves<Tensor>(f, std::move(a), b);
}

// The tree with empty tensors: only its structure.
template <class Tree>
Tree without_tensors(Tree tree) {
  for_each_tensor(tree, [](Tensor& tensor) { tensor = Tensor(); });
  return tree;
}

// Where an operation on these computes: on the device of those that are placed; of several, the
// first one that is not the CPU. Without them, of the unplaced ones. Empty tensors and keys are
// left out.
Device device_of(std::span<const Tensor> tensors);

// Writes text().
std::ostream& operator<<(std::ostream& out, const Tensor& x);

}  // namespace plait

// {} writes text(); a format after the colon, as in {:.3f}, is applied to the number of a scalar.
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
