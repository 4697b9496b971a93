#include "plait/transform/derivatives/follow.h"

#include <algorithm>

#include "plait/core/anomaly.h"
#include "plait/core/error.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/inside/derivatives/derivative.h"
#include "plait/transform/inside/derivatives/tangents.h"

namespace plait {
namespace {

const Derivation& derivation_of(const Tensor& tensor) {
  static const Derivation none;
  return tensor.derivation() ? *tensor.derivation() : none;
}

Tensor derived(const Tensor& tensor, Derivation derivation) {
  return tensor.with_derivation(std::make_shared<const Derivation>(std::move(derivation)));
}

Tensor with_origin(const Tensor& tensor, Origin origin) {
  Derivation derivation = derivation_of(tensor);
  derivation.origin = std::move(origin);
  return derived(tensor, std::move(derivation));
}

// The open levels of reverse mode that follow these tensors, and the tensors that they follow.
struct Followed {
  LevelSet levels;
  std::vector<bool> inputs;
};
Followed followed_in_reverse(std::span<const Tensor> operands) {
  Followed followed{{}, std::vector<bool>(operands.size(), false)};
  for (size_t i = 0; i < operands.size(); ++i) {
    const Origin& origin = derivation_of(operands[i]).origin;
    if (!origin) continue;
    const LevelSet levels = origin.levels.still_open();
    followed.inputs[i] = !levels.empty();
    followed.levels = followed.levels.with(levels);
  }
  return followed;
}

std::vector<Origin> origins_of(std::span<const Tensor> operands, const Followed& followed) {
  std::vector<Origin> origins(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (followed.inputs[i]) origins[i] = derivation_of(operands[i]).origin;
  }
  return origins;
}

// Records a node that has these results.
NodePtr following_step(std::span<const Tensor> operands, const Followed& followed,
                       std::vector<Tensor>& results) {
  NodePtr node = new_node();
  node->levels = followed.levels;
  node->inputs = origins_of(operands, followed);
  node->result_types = types_of(results);
  const Sketch* const sketch = Sketch::current();
  node->is_spent = sketch != nullptr && sketch->covers(followed.levels);
  if (detects_anomaly() && Trace::current() == nullptr) node->location = Location::of_caller();
  for (uint32_t i = 0; i < results.size(); ++i) {
    if (!has_tangent(results[i])) continue;
    results[i] = with_origin(results[i], {node, i, followed.levels});
  }
  return node;
}

// The sketch recomputes what it includes; a node keeps its other operands.
void keep_beginnings(const Sketch& sketch, Node& node, std::span<const Tensor> operands) {
  node.operands.resize(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!sketch.includes(node.inputs[i])) node.operands[i] = operands[i];
  }
}

// The open levels of forward mode among the operands, the outermost first.
std::vector<LevelPtr> forward_levels_of(std::span<const Tensor> operands) {
  std::vector<LevelPtr> levels;
  for (const Tensor& operand : operands) {
    for (const auto& each : derivation_of(operand).tangents) {
      if (each->level->is_open()) levels.push_back(each->level);
    }
  }
  const auto number = [](const LevelPtr& level) { return level->number(); };
  std::ranges::sort(levels, {}, number);
  const auto repeated = std::ranges::unique(levels);
  levels.erase(repeated.begin(), repeated.end());
  return levels;
}

// The result without its origin, for the node to keep: with it the node would own itself. A tangent
// that is followed could form such a cycle as well; it is dropped when its level closes.
Tensor for_its_step(const Tensor& result, const LevelSet& levels) {
  for (const auto& each : derivation_of(result).tangents) {
    if (each->level->number() < levels.least()) continue;
    each->level->at_close([tangent = std::weak_ptr(each)] {
      if (const auto held = tangent.lock()) held->tangent = {};
    });
  }
  return with_origin(result, {});
}

// One operation that levels follow.
class Following {
 public:
  Following(const ir::Primitive& primitive, std::span<const Tensor> operands,
            const ir::Attributes& attributes)
      : primitive_(primitive),
        operands_(operands),
        attributes_(attributes || primitive.attributes == nullptr
                        ? attributes
                        : ir::Attributes::defaults(primitive.attributes)) {}

  std::vector<Tensor> run() {
    return run(apply_undifferentiated(primitive_, operands_, attributes_));
  }

  std::vector<Tensor> run(std::vector<Tensor> results) {
    const Followed followed = followed_in_reverse(operands_);
    const std::vector<LevelPtr> forward = forward_levels_of(operands_);
    results_ = std::move(results);
    const bool any_inexact = std::ranges::any_of(
        results_, [](const Tensor& result) { return is_inexact(result.dtype()); });
    if (!any_inexact) return results_;
    if (!followed.levels.empty() && is_differentiable(primitive_, followed.inputs)) {
      note(followed);
    }
    for (const LevelPtr& level : forward) carry(level);
    if (node_) keep_results(followed);
    return results_;
  }

 private:
  void note(const Followed& followed) {
    node_ = following_step(operands_, followed, results_);
    node_->primitive = &primitive_;
    node_->attributes = attributes_;
    if (Trace* trace = Trace::current()) node_->location = trace->function().latest_location();
    node_->operand_types = types_of(operands_);
    node_->operands.resize(operands_.size());
    if (const Sketch* const sketch = Sketch::current()) {
      keep_beginnings(*sketch, *node_, operands_);
    }
    if (node_->is_spent) return;
    const Reads reads = reads_of(primitive_, followed.inputs);
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (reads_operand(reads, i)) node_->operands[i] = operands_[i];
    }
  }

  void carry(const LevelPtr& level) {
    std::vector<Tensor> operands, results, tangents;
    std::vector<bool> wanted;
    for (const Tensor& operand : operands_) {
      operands.push_back(below(operand, level->number()));
      tangents.push_back(tangent_of(operand, *level));
      wanted.push_back(static_cast<bool>(tangents.back()));
    }
    if (!is_differentiable(primitive_, wanted)) return;
    for (const Tensor& result : results_) results.push_back(below(result, level->number()));
    const std::vector<OperandType> operand_types = types_of(operands_);
    const std::vector<OperandType> result_types = types_of(results_);
    const std::vector<Tensor> given = push_forward(
        {primitive_, attributes_, operands, results, operand_types, result_types}, tangents);
    for (size_t i = 0; i < results_.size(); ++i) {
      if (i >= given.size() || !given[i] || !is_inexact(results_[i].dtype())) continue;
      results_[i] = with_tangent(results_[i], level, given[i]);
    }
  }

  void keep_results(const Followed& followed) {
    const Reads reads = reads_of(primitive_, followed.inputs);
    const Sketch* const sketch = Sketch::current();
    const bool keeps_all = sketch != nullptr && sketch->keeps(primitive_, attributes_);
    node_->results.resize(results_.size());
    for (size_t i = 0; i < results_.size(); ++i) {
      if (keeps_all || (!node_->is_spent && reads_result(reads, i))) {
        node_->results[i] = for_its_step(results_[i], followed.levels);
      }
    }
  }

  const ir::Primitive& primitive_;
  std::span<const Tensor> operands_;
  const ir::Attributes attributes_;
  std::vector<Tensor> results_;
  NodePtr node_;
};

}  // namespace

std::vector<Tensor> apply_differentiated(const ir::Primitive& primitive,
                                         std::span<const Tensor> operands,
                                         const ir::Attributes& attributes) {
  if (!is_followed(operands)) return apply_undifferentiated(primitive, operands, attributes);
  return Following(primitive, operands, attributes).run();
}

std::vector<Tensor> follow_results(const ir::Primitive& primitive, std::span<const Tensor> operands,
                                   const ir::Attributes& attributes, std::vector<Tensor> results) {
  if (!is_followed(operands)) return results;
  return Following(primitive, operands, attributes).run(std::move(results));
}

Tensor begin_following(const Tensor& tensor, const LevelPtr& level) {
  const Origin& origin = derivation_of(tensor).origin;
  NodePtr node = new_node();
  node->levels = LevelSet(level);
  if (origin) node->levels = node->levels.with(origin.levels);
  node->inputs = {origin};
  node->result_types = {OperandType(tensor)};
  if (const Sketch* const sketch = Sketch::current()) keep_beginnings(*sketch, *node, {&tensor, 1});
  return with_origin(tensor, {node, 0, node->levels});
}

Tensor with_tangent(const Tensor& tensor, const LevelPtr& level, Tensor tangent) {
  Derivation derivation = derivation_of(tensor);
  derivation.tangents.push_back(std::make_shared<TangentOf>(TangentOf{level, std::move(tangent)}));
  return derived(tensor, std::move(derivation));
}

Tensor tangent_of(const Tensor& tensor, const Level& level) {
  if (!tensor) return {};
  for (const auto& each : derivation_of(tensor).tangents) {
    if (each->level.get() == &level) return each->tangent;
  }
  return {};
}

Tensor follow_refined(const Tensor& tensor, const Tensor& given) {
  const auto refine = [](const Tensor& x, const Shape& shape) {
    Trace* const trace = Trace::current();
    return trace == nullptr ? x : trace->refine(x, shape);
  };
  Tensor refined = given;
  const Followed followed = followed_in_reverse({&tensor, 1});
  if (!followed.levels.empty()) {
    std::vector<Tensor> results{refined};
    const NodePtr node = following_step({&tensor, 1}, followed, results);
    node->backward = [refine, shape = tensor.shape()](std::span<const Tensor> cotangents,
                                                      const Node::Kept&) {
      return std::vector{refine(cotangents[0], shape)};
    };
    refined = results[0];
  }
  for (const LevelPtr& level : forward_levels_of({&tensor, 1})) {
    refined = with_tangent(refined, level, refine(tangent_of(tensor, *level), refined.shape()));
  }
  return refined;
}

namespace {

NodePtr note_custom(const Custom& custom, const Followed& followed, std::vector<Tensor>& results) {
  const std::vector<Tensor> values = results;
  const NodePtr node = following_step(custom.inputs, followed, results);
  const size_t inputs = custom.inputs.size();
  node->backward = custom.backward;
  node->forward = custom.forward;
  node->residuals = custom.residuals.size();
  node->inputs.resize(inputs + node->residuals);
  if (const Sketch* const sketch = Sketch::current()) {
    std::vector<Tensor> all = custom.inputs;
    all.insert(all.end(), custom.residuals.begin(), custom.residuals.end());
    const std::vector<Origin> origins =
        origins_of(custom.residuals, followed_in_reverse(custom.residuals));
    std::ranges::copy(origins, node->inputs.begin() + static_cast<std::ptrdiff_t>(inputs));
    keep_beginnings(*sketch, *node, all);
    node->results = values;
  }
  node->operands.resize(inputs + node->residuals);
  if (!node->is_spent) {
    std::ranges::copy(custom.residuals,
                      node->operands.begin() + static_cast<std::ptrdiff_t>(inputs));
  }
  return node;
}

std::vector<Tensor> all_below(std::span<const Tensor> tensors, uint64_t level) {
  std::vector<Tensor> outer;
  for (const Tensor& tensor : tensors) outer.push_back(below(tensor, level));
  return outer;
}

}  // namespace

std::vector<Tensor> follow_custom(const Custom& custom) {
  const Followed followed = followed_in_reverse(custom.inputs);
  std::vector<Tensor> results;
  for (const Tensor& result : custom.results) results.push_back(underived(result));
  NodePtr node;
  if (!followed.levels.empty()) node = note_custom(custom, followed, results);
  for (const LevelPtr& level : forward_levels_of(custom.inputs)) {
    std::vector<Tensor> tangents;
    for (const Tensor& input : custom.inputs) tangents.push_back(tangent_of(input, *level));
    const std::vector<Tensor> residuals = all_below(custom.residuals, level->number());
    const std::vector<Tensor> outer = all_below(results, level->number());
    const std::vector<Tensor> given = custom.forward(tangents, {residuals, outer}, level->number());
    for (size_t i = 0; i < results.size(); ++i) {
      if (given[i]) results[i] = with_tangent(results[i], level, given[i]);
    }
  }
  if (node && custom.first_kept <= results.size()) {
    node->results.resize(results.size());
    for (size_t i = custom.first_kept; i < results.size(); ++i) {
      node->results[i] = for_its_step(results[i], followed.levels);
    }
  }
  return results;
}

std::vector<Tensor> follow_recording(std::span<const Tensor> inputs, std::vector<Tensor> results,
                                     std::shared_ptr<const Recording> recording) {
  const Followed followed = followed_in_reverse(inputs);
  if (followed.levels.empty()) return results;
  const NodePtr node = following_step(inputs, followed, results);
  if (node->is_spent) {
    keep_beginnings(*Sketch::current(), *node, inputs);
  } else {
    node->operands.assign(inputs.begin(), inputs.end());
  }
  node->recording = std::move(recording);
  return results;
}

std::vector<uint64_t> open_levels_of(std::span<const Tensor> tensors) {
  std::vector<uint64_t> levels;
  const auto meet = [&](const LevelPtr& level) {
    if (level->is_open()) levels.push_back(level->number());
  };
  for (const Tensor& tensor : tensors) {
    const Derivation& derivation = derivation_of(tensor);
    if (derivation.origin) derivation.origin.levels.for_each(meet);
    for (const auto& each : derivation.tangents) meet(each->level);
  }
  std::ranges::sort(levels);
  const auto repeated = std::ranges::unique(levels);
  levels.erase(repeated.begin(), repeated.end());
  return levels;
}

Tensor from_level(const Tensor& tensor, uint64_t level) {
  const Derivation& all = derivation_of(tensor);
  Derivation kept;
  if (all.origin) {
    const LevelSet& levels = all.origin.levels;
    kept.origin = {{}, all.origin.result, levels.without(levels.below(level))};
    if (!kept.origin.levels.empty()) kept.origin.node = all.origin.node;
  }
  std::ranges::copy_if(all.tangents, std::back_inserter(kept.tangents),
                       [&](const auto& each) { return each->level->number() >= level; });
  return kept.empty() ? underived(tensor) : derived(tensor, std::move(kept));
}

}  // namespace plait
