#include "plait/transform/inside/derivatives/sweep.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ops/arrays/to_device.h"
#include "plait/ops/call.h"
#include "plait/tensor/inside/kernel_anomaly.h"
#include "plait/tensor/inside/tracing/trace_scopes.h"
#include "plait/transform/inside/derivatives/derivative.h"
#include "plait/transform/inside/derivatives/linear_map.h"
#include "plait/transform/inside/derivatives/recording.h"
#include "plait/transform/inside/derivatives/tangents.h"

namespace plait {
namespace {

// The results that rules read, with this node as their origin. Levels that a trace pauses are
// included: the captures of a trace are followed where its function is used.
std::vector<Tensor> results_of(const NodePtr& node) {
  std::vector<Tensor> results = node->results;
  const LevelSet levels = node->levels.differentiable_levels();
  if (levels.empty()) return results;
  for (uint32_t i = 0; i < results.size(); ++i) {
    if (!results[i] || !has_tangent(results[i])) continue;
    Derivation derivation;
    if (results[i].derivation()) derivation = *results[i].derivation();
    derivation.origin = {node, i, levels};
    results[i] =
        results[i].with_derivation(std::make_shared<const Derivation>(std::move(derivation)));
  }
  return results;
}

// The levels, of both modes, that may differentiate the repeated run.
LevelSet levels_of_recording(const Node& node) {
  LevelSet levels = node.levels;
  for (const Tensor& operand : node.operands) {
    if (!operand || !operand.derivation()) continue;
    for (const auto& each : operand.derivation()->tangents) {
      levels = levels.with(LevelSet(each->level));
    }
  }
  return levels.differentiable_levels();
}

// Runs the operations of a node again, and returns the origins of the new results. The run is in
// the trace of the first one, so that other levels follow it too, through the stored operands.
std::vector<Origin> origins_again(const Node& node, const Level& level) {
  std::vector<Origin> origins;
  const Trace::WhereFollowed there(levels_of_recording(node));
  const LevelResume resume(level);
  for (const Tensor& result : node.recording->run(node.operands, Recording::Want::derivatives)) {
    origins.push_back(result.derivation() ? result.derivation()->origin : Origin());
  }
  return origins;
}

std::unordered_set<uint64_t> numbers_of(std::span<const Node* const> nodes) {
  std::unordered_set<uint64_t> numbers;
  for (const Node* node : nodes) numbers.insert(node->number);
  return numbers;
}

std::vector<Tensor> backward_of(const NodePtr& node, std::span<const Tensor> cotangents) {
  const std::vector<Tensor> results = results_of(node);
  return node->backward(cotangents, {std::span(node->operands).last(node->residuals), results});
}

// Calls the hooks with the accumulated cotangent, in the order of registration; a hook may
// replace it.
void tell(Listeners& listeners, std::vector<Tensor>& cotangents) {
  std::vector<Listeners::Entry> hooks;
  {
    const std::lock_guard lock(listeners.mutex);
    hooks = listeners.hooks;
  }
  for (const Listeners::Entry& entry : hooks) {
    Tensor& cotangent = cotangents[entry.result];
    if (!cotangent) continue;
    Tensor replaced = entry.hook(cotangent);
    if (!replaced) continue;
    if (!ir::fits_but_for_axes(replaced.type(), cotangent.type())) {
      throw TypeError("a hook returned {} for a gradient of {}", replaced.type().text(),
                      cotangent.type().text())
          .at(Location::of_caller());
    }
    cotangent = std::move(replaced);
  }
}

void forget(Node& node) {
  node.is_spent = true;
  node.operands.clear();
  node.results.clear();
  node.backward = {};
  node.forward = {};
  node.recording = {};
  node.inputs.clear();
}

[[noreturn]] void refuse_spent(const Node& node) {
  const std::string_view what =
      node.primitive ? std::string_view(node.primitive->name) : "a function";
  if (node.sketch != 0) {
    throw ValueError("{} was computed inside of remat, which keeps nothing of it for a gradient",
                     what)
        .at(Location::of_caller())
        .hint("let the function under remat return what is used outside of it");
  }
  throw ValueError(
      "the gradient of {} was computed before, and the values that it needs were freed", what)
      .at(Location::of_caller())
      .hint("pass `keep` (retain_graph) the first time");
}

// Where the value is. That of an unplaced value stays where it was computed.
Tensor at_home(const Tensor& cotangent, const OperandType& value) {
  if (!value.knows_device() || cotangent.device() == value.device()) return cotangent;
  if (!value.is_unplaced()) return to_device(cotangent, value.device());
  return cotangent.is_unplaced() ? made_on(value.device(), cotangent) : cotangent;
}

}  // namespace

void Sweep::add(const Origin& origin, Tensor cotangent) {
  if (!cotangent || !follows(origin)) return;
  cotangent = at_home(cotangent, origin.node->result_types[origin.result]);
  const auto [place, is_new] = cotangents_.try_emplace(origin.node.get());
  std::vector<Tensor>& of_results = place->second;
  if (is_new) {
    of_results.resize(origin.node->result_types.size());
    waiting_.push_back(origin.node);
    std::ranges::push_heap(waiting_, Later());
  }
  Tensor& total = of_results[origin.result];
  total = sum_of(total, cotangent);
}

void Sweep::run(const SweepOptions& options) {
  const Nodes wanted = numbers_of(options.wanted), stops = numbers_of(options.stops);
  if (options.only_wanted) {
    only_ = wanted;
    std::vector<const Node*> all;
    for (const NodePtr& node : waiting_) all.push_back(node.get());
    add_leading(std::move(all), 0);
  }
  while (!waiting_.empty()) {
    const NodePtr node = take_latest();
    std::vector<Tensor> cotangents = std::move(cotangents_.extract(node.get()).mapped());
    if (node->listeners) tell(*node->listeners, cotangents);
    if (wanted.contains(node->number)) kept_[node.get()] = cotangents;
    if (stops.contains(node->number) || (only_ && !only_->contains(node->number))) continue;
    if (node->is_spent) refuse_spent(*node);
    const bool is_leaf =
        std::ranges::none_of(node->inputs, [&](const Origin& input) { return follows(input); });
    if (is_leaf) {
      if (options.at_leaf && cotangents[0]) options.at_leaf(*node, cotangents[0]);
      continue;
    }
    pull_through(node, cotangents);
    if (!options.keep && !node->levels.has_unclosed_besides(level_)) forget(*node);
  }
}

NodePtr Sweep::take_latest() {
  std::ranges::pop_heap(waiting_, Later());
  NodePtr node = std::move(waiting_.back());
  waiting_.pop_back();
  return node;
}

// Finds the nodes after `later_than` on which these depend and that lead to a wanted node, the
// earliest first.
void Sweep::add_leading(std::vector<const Node*> nodes, uint64_t later_than) {
  std::unordered_set<const Node*> seen(nodes.begin(), nodes.end());
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const Origin& input : nodes[i]->inputs) {
      const Node* const node = input.node.get();
      const bool is_new = follows(input) && node->number > later_than && seen.insert(node).second;
      if (is_new) nodes.push_back(node);
    }
  }
  std::ranges::sort(nodes, {}, [](const Node* node) { return node->number; });
  for (const Node* node : nodes) {
    const bool leads = std::ranges::any_of(node->inputs, [&](const Origin& input) {
      return follows(input) && only_->contains(input.node->number);
    });
    if (leads) only_->insert(node->number);
  }
}

Tensor Sweep::at(const Node& wanted, uint32_t result) const {
  const auto place = kept_.find(&wanted);
  return place == kept_.end() ? Tensor() : place->second[result];
}

void Sweep::pull_through(const NodePtr& pointer, std::span<const Tensor> cotangents) {
  const Node& node = *pointer;
  const LocationScope place(node.location.in_backward_pass());
  const BackwardPassOf pass(node.primitive);
  std::vector<bool> wanted;
  for (const Origin& input : node.inputs) {
    wanted.push_back(follows(input) && (!only_ || only_->contains(input.node->number)));
  }
  if (std::ranges::find(wanted, true) == wanted.end()) return;
  if (node.recording) return pull_through_again(node, cotangents);
  std::vector<Tensor> given;
  if (node.backward) {
    given = backward_of(pointer, cotangents);
    given.resize(wanted.size());
  } else if (node.primitive == nullptr) {
    given = {cotangents[0]};
  } else {
    const std::vector<Tensor> results = results_of(pointer);
    given = pull_back({*node.primitive, node.attributes, node.operands, results, node.operand_types,
                       node.result_types},
                      cotangents, wanted);
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) add(node.inputs[i], given[i]);
  }
}

// The nodes of the second run replace the node that represented them.
void Sweep::pull_through_again(const Node& node, std::span<const Tensor> cotangents) {
  const uint64_t latest = Node::newest_number();
  const std::vector<Origin> results = origins_again(node, level_);
  if (only_) {
    std::vector<const Node*> ends;
    for (const Origin& result : results) {
      if (follows(result) && result.node->number > latest) ends.push_back(result.node.get());
    }
    add_leading(std::move(ends), latest);
  }
  for (size_t i = 0; i < results.size(); ++i) add(results[i], cotangents[i]);
}

namespace {

// Forward mode through the nodes of a level, from its leaves or continuing another sweep.
class ForwardSweep {
 public:
  explicit ForwardSweep(const Level& level, const ForwardSweep* before = nullptr)
      : level_(level), before_(before) {}

  void begin(const Node& leaf, const Tensor& tangent) { found_[&leaf] = {tangent}; }

  std::vector<Tensor> run(std::span<const Origin> results) {
    for (const NodePtr& node : steps_to(results)) {
      std::vector<Tensor> incoming;
      bool is_zero = true;
      for (const Origin& input : node->inputs) {
        incoming.push_back(tangent_at(input));
        is_zero = is_zero && !incoming.back();
      }
      if (is_zero) continue;
      std::vector<Tensor> outgoing = push_through(node, incoming);
      outgoing.resize(node->result_types.size());
      found_[node.get()] = std::move(outgoing);
    }
    std::vector<Tensor> given;
    for (const Origin& result : results) given.push_back(tangent_at(result));
    return given;
  }

 private:
  Tensor tangent_at(const Origin& origin) const {
    const bool is_followed = origin && origin.levels.contains(level_);
    const std::vector<Tensor>* const tangents = is_followed ? find(*origin.node) : nullptr;
    return tangents == nullptr ? Tensor() : (*tangents)[origin.result];
  }

  const std::vector<Tensor>* find(const Node& node) const {
    const auto place = found_.find(&node);
    if (place != found_.end()) return &place->second;
    return before_ == nullptr ? nullptr : before_->find(node);
  }

  // The nodes on which these depend and that were not visited yet, the earliest first.
  std::vector<NodePtr> steps_to(std::span<const Origin> results) const {
    std::vector<NodePtr> all;
    std::unordered_set<const Node*> seen;
    const auto visit = [&](const Origin& origin) {
      const bool is_new = origin && origin.levels.contains(level_) &&
                          find(*origin.node) == nullptr && seen.insert(origin.node.get()).second;
      if (is_new) all.push_back(origin.node);
    };
    for (const Origin& result : results) visit(result);
    for (size_t i = 0; i < all.size(); ++i) {
      for (const Origin& input : all[i]->inputs) visit(input);
    }
    std::ranges::sort(all, {}, [](const NodePtr& node) { return node->number; });
    return all;
  }

  std::vector<Tensor> push_through(const NodePtr& node, std::span<const Tensor> tangents) {
    const LocationScope place(node->location);
    if (node->is_spent) refuse_spent(*node);
    if (node->recording) {
      const std::vector<Origin> results = origins_again(*node, level_);
      return ForwardSweep(level_, this).run(results);
    }
    if (node->forward) {
      const std::vector<Tensor> results = results_of(node);
      return node->forward(tangents.first(node->inputs.size() - node->residuals),
                           {std::span(node->operands).last(node->residuals), results},
                           level_.number());
    }
    if (node->backward) {
      const auto map = [&](std::span<const Tensor> cotangents) {
        return backward_of(node, cotangents);
      };
      return transpose_map(node->result_types, map, tangents);
    }
    if (node->primitive == nullptr) return {tangents[0]};
    const std::vector<Tensor> results = results_of(node);
    return push_forward({*node->primitive, node->attributes, node->operands, results,
                         node->operand_types, node->result_types},
                        tangents);
  }

  const Level& level_;
  const ForwardSweep* const before_;
  std::unordered_map<const Node*, std::vector<Tensor>> found_;
};

}  // namespace

std::vector<Tensor> sweep_forward(const Level& level, std::span<const Origin> results,
                                  std::span<const NodePtr> leaves,
                                  std::span<const Tensor> tangents) {
  ForwardSweep sweep(level);
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i]) sweep.begin(*leaves[i], tangents[i]);
  }
  return sweep.run(results);
}

namespace {

bool is_nonlinear(const Node& node, const Level& level) {
  if (node.primitive == nullptr || node.backward) return false;
  std::vector<bool> wanted;
  for (const Origin& input : node.inputs) {
    wanted.push_back(input && input.levels.contains(level));
  }
  const Reads reads = reads_of(*node.primitive, wanted);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] && reads_operand(reads, i)) return true;
  }
  return reads.results != 0;
}

}  // namespace

void refuse_nonlinear_steps(const Level& level, std::span<const Origin> results) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> all;
  const auto visit = [&](const Origin& origin) {
    const bool is_new =
        origin && origin.levels.contains(level) && seen.insert(origin.node.get()).second;
    if (is_new) all.push_back(origin.node.get());
  };
  for (const Origin& result : results) visit(result);
  for (size_t i = 0; i < all.size(); ++i) {
    if (is_nonlinear(*all[i], level)) {
      throw ValueError("{} is not linear in the operands of a rule: its derivative depends on them",
                       all[i]->primitive->name)
          .at(all[i]->location.known() ? all[i]->location : Location::of_caller())
          .hint(
              "the tangents that a jvp rule returns, and the cotangents of a vjp rule, are linear "
              "in those that it receives");
    }
    for (const Origin& input : all[i]->inputs) visit(input);
  }
}

}  // namespace plait
