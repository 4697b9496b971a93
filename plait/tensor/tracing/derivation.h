// The derivation of a tensor, for the levels that take derivatives: its node in the graph of
// operations (reverse mode), and its tangents (forward mode). Filled in by `transform`.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "plait/core/ambient.h"
#include "plait/core/location.h"
#include "plait/tensor/rules.h"
#include "plait/tensor/tracing/level.h"

namespace plait {

struct Node;
class Recording;  // transform/inside/derivatives/recording.h

// Reference-counted pointer to a node. A long chain is freed without deep recursion.
class NodePtr {
 public:
  NodePtr() = default;
  explicit NodePtr(Node* node) : node_(node) {}
  NodePtr(const NodePtr& other);
  NodePtr(NodePtr&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  NodePtr& operator=(NodePtr other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~NodePtr();

  Node* operator->() const { return node_; }
  Node& operator*() const { return *node_; }
  Node* get() const { return node_; }
  explicit operator bool() const { return node_ != nullptr; }

 private:
  Node* node_ = nullptr;
};

// The node and result number that a tensor comes from, and the levels that follow it.
struct Origin {
  NodePtr node;
  uint32_t result = 0;
  LevelSet levels;

  explicit operator bool() const { return static_cast<bool>(node); }
};

// The tangent of a tensor at a level of forward mode.
struct TangentOf {
  LevelPtr level;
  Tensor tangent;
};

struct Derivation {
  Origin origin;
  std::vector<std::shared_ptr<TangentOf>> tangents;  // sorted by level, outermost first

  bool empty() const { return !origin && tangents.empty(); }
};

// Receivers of the cotangent of a tensor: hooks, and the gradient of a leaf
// (transform/derivatives/tape.h).
struct Listeners {
  using Hook = std::function<Tensor(const Tensor& cotangent)>;

  std::mutex mutex;
  Tensor gradient;  // gradient of a leaf: the accumulated cotangent
  struct Entry {
    uint64_t number;
    uint32_t result;
    Hook hook;
  };
  std::vector<Entry> hooks;
};

// A node of the graph: an operation with what its derivative needs, or a leaf.
struct Node {
  // The values that the rule of a custom node may read.
  struct Kept {
    std::span<const Tensor> residuals;
    std::span<const Tensor> results;  // those that the node keeps; the others are empty
  };
  // Maps cotangents of the results to cotangents of the inputs.
  using Backward =
      std::function<std::vector<Tensor>(std::span<const Tensor> cotangents, const Kept& kept)>;
  // Maps tangents of the inputs to tangents of the results, at the level of this number.
  using Forward = std::function<std::vector<Tensor>(std::span<const Tensor> tangents,
                                                    const Kept& kept, uint64_t level)>;

  std::atomic<uint32_t> owners{1};
  uint64_t number = 0;                       // ascending in the order of computation
  const ir::Primitive* primitive = nullptr;  // null for a node with `backward`, and for a leaf
  ir::Attributes attributes = {};
  Location location = {};  // in the trace that recorded it
  LevelSet levels = {};
  std::vector<Origin> inputs = {};    // one per operand; empty if no level follows it
  std::vector<Tensor> operands = {};  // those that rules read
  std::vector<Tensor> results = {};   // those that rules read; their origin is not this node
  std::vector<OperandType> operand_types = {};
  std::vector<OperandType> result_types = {};
  Backward backward = {};  // replaces the rules of the primitive
  Forward forward = {};    // used with `backward`
  size_t residuals = 0;    // number of operands at the end that are residuals
  // Many nodes that this one represents: its operands are the inputs of the recording.
  std::shared_ptr<const Recording> recording = {};
  std::shared_ptr<Listeners> listeners = {};  // null until there is one
  bool is_spent = false;                      // its kept values are freed, or were never kept
  uint64_t sketch = 0;                        // sketch that it was made in; 0 for none

  static uint64_t newest_number();
};

// A node with the next number.
NodePtr new_node();

// While one exists, its thread records the graph but keeps no values: they will be computed again
// (transform/inside/derivatives/recording.h). Levels that are opened meanwhile keep their values as
// usual.
class Sketch {
 public:
  // True for an operation whose results are kept nevertheless.
  using Keeps =
      std::function<bool(const ir::Primitive& primitive, const ir::Attributes& attributes)>;

  explicit Sketch(Keeps keeps);
  ~Sketch() { end(); }
  Sketch(const Sketch&) = delete;
  Sketch& operator=(const Sketch&) = delete;

  static const Sketch* current() { return ambient.sketch; }
  void end();

  uint64_t number() const { return number_; }
  bool keeps(const ir::Primitive& primitive, const ir::Attributes& attributes) const {
    return keeps_(primitive, attributes);
  }
  // True if all of the levels are older than the sketch, so that only the sketch needs a node for
  // them. False for what is run again within the sketch for a backward pass, which needs its values
  // now.
  bool covers(const LevelSet& levels) const {
    const bool is_run_again = LevelResume::depth() > resumes_ && levels.any_is_resumed();
    return levels.greatest() <= newest_level_ && !is_run_again;
  }
  // True if one of the older levels follows what comes from there.
  bool concerns(const Origin& origin) const {
    return origin && origin.levels.least() <= newest_level_;
  }
  // True if it was computed within this sketch.
  bool includes(const Origin& origin) const {
    return concerns(origin) && origin.node->sketch == number_;
  }

 private:
  const Keeps keeps_;
  const Sketch* const outer_;
  bool has_ended_ = false;
  const uint64_t number_, newest_level_;
  const int resumes_;  // outside of it
};

// The tensor without its derivation at this level and the levels inside it.
Tensor below(const Tensor& tensor, uint64_t level);
// The tensor without any derivation.
Tensor underived(const Tensor& tensor);
// True if an open level follows it, or one of them.
bool is_followed(const Tensor& tensor);
bool is_followed(std::span<const Tensor> tensors);

// apply_all for operands of which some have a derivation. Defined in `transform`.
std::vector<Tensor> apply_differentiated(const ir::Primitive& primitive,
                                         std::span<const Tensor> operands,
                                         const ir::Attributes& attributes);

// `refined` has the value of `tensor`, with sizes that were found to be equal to its own.
Tensor follow_refined(const Tensor& tensor, const Tensor& refined);

}  // namespace plait
