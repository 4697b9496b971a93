#include "plait/transform/follow.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/trace.h"
#include "plait/transform/derivative.h"

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

// The open levels of reverse mode that follow these, and which of them they follow.
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

// The open levels of forward mode among the operands, the outer ones first.
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

// An operation that is being followed.
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
    const Followed followed = followed_in_reverse(operands_);
    const std::vector<LevelPtr> forward = forward_levels_of(operands_);
    results_ = apply_unfollowed(primitive_, operands_, attributes_);
    const bool any_inexact = std::ranges::any_of(
        results_, [](const Tensor& result) { return is_inexact(result.dtype()); });
    if (!any_inexact) return results_;
    if (!followed.levels.empty() && is_differentiable(primitive_, followed.inputs)) {
      note(followed);
    }
    for (const LevelPtr& level : forward) carry(level);
    if (step_) keep_results(followed);
    return results_;
  }

 private:
  void note(const Followed& followed) {
    step_ = new_step();
    step_->primitive = &primitive_;
    step_->attributes = attributes_;
    step_->levels = followed.levels;
    step_->inputs = origins_of(operands_, followed);
    step_->operand_types = types_of(operands_);
    step_->result_types = types_of(results_);
    const Reads reads = reads_of(primitive_, followed.inputs);
    step_->operands.resize(operands_.size());
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (reads_operand(reads, i)) step_->operands[i] = operands_[i];
    }
    for (uint32_t i = 0; i < results_.size(); ++i) {
      if (!is_inexact(results_[i].dtype())) continue;
      results_[i] = with_origin(results_[i], {step_, i, followed.levels});
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

  // Without the step itself, which would otherwise own itself. So it would through a tangent that
  // is followed too; such a one ends with its level.
  void keep_results(const Followed& followed) {
    const Reads reads = reads_of(primitive_, followed.inputs);
    step_->results.resize(results_.size());
    for (size_t i = 0; i < results_.size(); ++i) {
      if (!reads_result(reads, i)) continue;
      step_->results[i] = with_origin(results_[i], {});
      for (const auto& each : derivation_of(results_[i]).tangents) {
        if (each->level->number() < followed.levels.least()) continue;
        each->level->at_close([tangent = std::weak_ptr(each)] {
          if (const auto held = tangent.lock()) held->tangent = {};
        });
      }
    }
  }

  const ir::Primitive& primitive_;
  std::span<const Tensor> operands_;
  const ir::Attributes attributes_;
  std::vector<Tensor> results_;
  StepPtr step_;
};

}  // namespace

std::vector<Tensor> apply_following(const ir::Primitive& primitive,
                                    std::span<const Tensor> operands,
                                    const ir::Attributes& attributes) {
  if (!is_followed(operands)) return apply_unfollowed(primitive, operands, attributes);
  return Following(primitive, operands, attributes).run();
}

Tensor begin_following(const Tensor& tensor, const LevelPtr& level) {
  const Origin& origin = derivation_of(tensor).origin;
  StepPtr step = new_step();
  step->levels = LevelSet(level);
  if (origin) step->levels = step->levels.with(origin.levels);
  step->inputs = {origin};
  step->result_types = {OperandType(tensor)};
  return with_origin(tensor, {step, 0, step->levels});
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
    StepPtr step = new_step();
    step->levels = followed.levels;
    step->inputs = origins_of({&tensor, 1}, followed);
    step->result_types = types_of({&refined, 1});
    step->backward = [refine, shape = tensor.shape()](std::span<const Tensor> cotangents) {
      return std::vector{refine(cotangents[0], shape)};
    };
    refined = with_origin(refined, {step, 0, followed.levels});
  }
  for (const LevelPtr& level : forward_levels_of({&tensor, 1})) {
    refined = with_tangent(refined, level, refine(tangent_of(tensor, *level), refined.shape()));
  }
  return refined;
}

std::vector<Tensor> follow_custom(std::span<const Tensor> inputs, std::vector<Tensor> results,
                                  Step::Backward backward, const Forward& forward) {
  const Followed followed = followed_in_reverse(inputs);
  for (Tensor& result : results) result = underived(result);
  if (!followed.levels.empty()) {
    StepPtr step = new_step();
    step->levels = followed.levels;
    step->inputs = origins_of(inputs, followed);
    step->result_types = types_of(results);
    step->backward = std::move(backward);
    for (uint32_t i = 0; i < results.size(); ++i) {
      if (!is_inexact(results[i].dtype())) continue;
      results[i] = with_origin(results[i], {step, i, followed.levels});
    }
  }
  for (const LevelPtr& level : forward_levels_of(inputs)) {
    std::vector<Tensor> tangents;
    for (const Tensor& input : inputs) tangents.push_back(tangent_of(input, *level));
    const std::vector<Tensor> given = forward(tangents, level->number());
    for (size_t i = 0; i < results.size(); ++i) {
      if (given[i]) results[i] = with_tangent(results[i], level, given[i]);
    }
  }
  return results;
}

LevelPtr only_level_of(std::span<const Tensor> tensors) {
  LevelPtr only;
  bool is_one = true;
  const auto meet = [&](const LevelPtr& level) {
    if (!level->is_open()) return;
    is_one = is_one && (!only || only == level);
    only = level;
  };
  for (const Tensor& tensor : tensors) {
    const Derivation& derivation = derivation_of(tensor);
    if (derivation.origin) derivation.origin.levels.for_each(meet);
    for (const auto& each : derivation.tangents) meet(each->level);
  }
  return is_one ? only : nullptr;
}

}  // namespace plait
