// Reverse mode: propagates cotangents from results back through the recorded nodes of a level, the
// last node first.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "plait/tensor/tracing/derivation.h"

namespace plait {

struct SweepOptions {
  bool keep = false;  // the nodes can be swept again
  // Nodes whose cotangents are returned. Nothing else is computed if `only_wanted`.
  std::span<const Node* const> wanted = {};
  bool only_wanted = false;
  std::span<const Node* const> stops = {};  // cotangents are not propagated beyond these
  // Called with each leaf of the level that is reached, and its cotangent.
  std::function<void(Node& leaf, const Tensor& cotangent)> at_leaf = {};
};

class Sweep {
 public:
  explicit Sweep(const Level& level) : level_(level) {}

  // Adds to the cotangent of that origin. Does nothing if the level does not follow it.
  void add(const Origin& origin, Tensor cotangent);
  void run(const SweepOptions& options);
  // The accumulated cotangent of a wanted node's result; empty if there is none.
  Tensor at(const Node& wanted, uint32_t result = 0) const;

 private:
  struct Later {
    bool operator()(const NodePtr& a, const NodePtr& b) const { return a->number < b->number; }
  };

  using Nodes = std::unordered_set<uint64_t>;  // by number

  void add_leading(std::vector<const Node*> nodes, uint64_t later_than);
  NodePtr take_latest();
  void pull_through(const NodePtr& node, std::span<const Tensor> cotangents);
  void pull_through_again(const Node& node, std::span<const Tensor> cotangents);
  bool follows(const Origin& origin) const { return origin && origin.levels.contains(level_); }

  const Level& level_;
  std::vector<NodePtr> waiting_;  // a heap, the latest on top
  std::unordered_map<const Node*, std::vector<Tensor>> cotangents_, kept_;
  std::optional<Nodes> only_;  // the nodes that are computed; all if empty
};

// Forward mode through the same nodes, any number of times: returns the tangents of the results,
// given those of the leaves. Empty is zero.
std::vector<Tensor> sweep_forward(const Level& level, std::span<const Origin> results,
                                  std::span<const NodePtr> leaves,
                                  std::span<const Tensor> tangents);

// ValueError that names a node on the way to these results whose derivative depends on
// followed values.
void refuse_nonlinear_steps(const Level& level, std::span<const Origin> results);

}  // namespace plait
