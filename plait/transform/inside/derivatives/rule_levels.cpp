#include "plait/transform/inside/derivatives/rule_levels.h"

#include <algorithm>
#include <unordered_set>

#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/inside/derivatives/tangents.h"
#include "plait/transform/inside/forms/form.h"

namespace plait::customs {

using Tensors = std::vector<Tensor>;

Tensors below_all(std::span<const Tensor> tensors, uint64_t level) {
  Tensors outer;
  for (const Tensor& tensor : tensors) outer.push_back(below(tensor, level));
  return outer;
}

namespace {

// The tape of the current trace, or of the code outside of all traces. It is opened once, but
// tensors may require gradients on it later, also within functions of newer levels.
const LevelPtr& tape_level() {
  Trace* const trace = Trace::current();
  return trace == nullptr ? Level::ground() : trace->levels().tape();
}

// Returns the number of the node at which the level last began to follow one of these tensors or
// their inputs; 0 if there is none.
uint64_t latest_beginning(std::span<const Tensor> tensors, const Level& level) {
  uint64_t latest = 0;
  std::vector<const Node*> nodes;
  std::unordered_set<const Node*> seen;
  const auto visit = [&](const Origin& origin) {
    const bool follows = origin && origin.levels.contains(level);
    if (follows && seen.insert(origin.node.get()).second) nodes.push_back(origin.node.get());
    return follows;
  };
  for (const Tensor& tensor : tensors) {
    if (tensor.derivation()) visit(tensor.derivation()->origin);
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    bool is_leaf = true;
    for (const Origin& input : nodes[i]->inputs) is_leaf = !visit(input) && is_leaf;
    if (is_leaf) latest = std::max(latest, nodes[i]->number);
  }
  return latest;
}

// Returns the tape if a tensor began to require gradients within the function of the newest level:
// then the tape is the innermost level. Otherwise null.
LevelPtr innermost_tape(std::span<const Tensor> arguments) {
  const LevelPtr& tape = tape_level();
  const uint64_t begun = latest_beginning(arguments, *tape);
  if (begun == 0) return nullptr;
  LevelPtr last = tape;
  bool is_forward = false;
  const auto meet = [&](const LevelPtr& level, bool has_tangent) {
    if (!level->is_open() || level->number() <= last->number()) return;
    last = level;
    is_forward = has_tangent;
  };
  for (const Tensor& tensor : arguments) {
    if (!tensor.derivation()) continue;
    const Derivation& derivation = *tensor.derivation();
    derivation.origin.levels.for_each([&](const LevelPtr& level) { meet(level, false); });
    for (const auto& each : derivation.tangents) meet(each->level, true);
  }
  if (last == tape) return nullptr;
  return begun > (is_forward ? last->opened_after() : latest_beginning(arguments, *last)) ? tape
                                                                                          : nullptr;
}

Tensor with_levels(const Tensor& tensor, const LevelSet& levels) {
  Derivation derivation = *tensor.derivation();
  derivation.origin.levels = levels;
  if (levels.empty()) derivation.origin = {};
  if (derivation.empty()) return underived(tensor);
  return tensor.with_derivation(std::make_shared<const Derivation>(std::move(derivation)));
}

Tensors from_level_all(std::span<const Tensor> tensors, uint64_t level) {
  Tensors inner;
  for (const Tensor& tensor : tensors) inner.push_back(from_level(tensor, level));
  return inner;
}

}  // namespace

RuleLevels::RuleLevels(uint64_t innermost, std::span<const Tensor> arguments)
    : innermost_(innermost), tape_(innermost_tape(arguments)) {}

RuleLevels::RuleLevels(std::span<const Tensor> arguments)
    : RuleLevels(open_levels_of(arguments).back(), arguments) {}

Tensors RuleLevels::outer(std::span<const Tensor> arguments) const {
  if (!tape_) return below_all(arguments, innermost_);
  Tensors found(arguments.begin(), arguments.end());
  for (Tensor& each : found) {
    if (each.derivation() && each.derivation()->origin) {
      each = with_levels(each, each.derivation()->origin.levels.without(LevelSet(tape_)));
    }
  }
  return found;
}

Tensors RuleLevels::inner(std::span<const Tensor> arguments) const {
  const uint64_t number = tape_ ? tape_->number() : innermost_;
  return from_level_all(below_all(arguments, number + 1), number);
}

std::vector<SeenResult> seen_results(std::span<const Tensor> results) {
  std::vector<SeenResult> seen;
  for (size_t i = 0; i < results.size(); ++i) {
    if (plait::is_followed(results[i])) seen.push_back({i, results[i]});
  }
  return seen;
}

Tensors follow_with(Custom custom, std::span<const SeenResult> seen) {
  if (seen.empty()) return follow_custom(custom);
  const size_t arguments = custom.inputs.size();
  std::vector<size_t> places;
  for (const SeenResult& each : seen) {
    places.push_back(each.place);
    custom.inputs.push_back(each.result);
  }
  custom.backward = [rule = std::move(custom.backward), places](std::span<const Tensor> cotangents,
                                                                const Node::Kept& kept) {
    Tensors given = rule(cotangents, kept);
    for (const size_t place : places) given.push_back(cotangents[place]);
    return given;
  };
  custom.forward = [rule = std::move(custom.forward), places, arguments,
                    count = custom.results.size()](std::span<const Tensor> tangents,
                                                   const Node::Kept& kept, uint64_t level) {
    const auto of_arguments = tangents.first(arguments);
    const bool any = std::ranges::any_of(of_arguments, [](const Tensor& x) { return bool(x); });
    Tensors given = any ? rule(of_arguments, kept, level) : Tensors(count);
    for (size_t i = 0; i < places.size(); ++i) {
      Tensor& total = given[places[i]];
      total = sum_of(total, tangents[arguments + i]);
    }
    return given;
  };
  return follow_custom(custom);
}

// ---- Instructions whose callees have rules.

bool has_rules(const ir::Program& program, const ir::Function& function) {
  std::vector<bool> seen(program.functions().size());
  std::vector<size_t> left = {program.index_of(function.name())};
  while (!left.empty()) {
    const size_t index = left.back();
    left.pop_back();
    if (seen[index]) continue;
    seen[index] = true;
    for (const ir::Instruction instruction : program.function(index).instructions()) {
      const Follow& follow = form_of(instruction.primitive().structure).follow;
      if (follow.has_rule) return true;
      if (instruction.callees().empty()) continue;
      const std::span<const uint32_t> callees = program.callees_of(index, instruction);
      const size_t run = std::min(follow.runs, callees.size());
      left.insert(left.end(), callees.begin(), callees.begin() + static_cast<ptrdiff_t>(run));
    }
  }
  return false;
}

bool has_rules(const StagedFunction& function) {
  return has_rules(function.program, *function.function);
}

TensorFunction without_rules(TensorFunction function) {
  return [function = std::move(function)](std::span<const Tensor> given) {
    const LevelPtr level = Level::open();
    Tensors begun(given.begin(), given.end());
    for (Tensor& each : begun) {
      if (has_tangent(each)) each = begin_following(each, level);
    }
    Tensors results = below_all(function(begun), level->number());
    level->close();
    return results;
  };
}

bool are_several_levels(std::span<const Tensor> operands) {
  return open_levels_of(operands).size() > 1;
}

}  // namespace plait::customs
