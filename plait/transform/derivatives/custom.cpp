#include "plait/transform/derivatives/custom.h"

#include <algorithm>
#include <unordered_set>

#include "plait/core/error.h"
#include "plait/ir/structure.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/tensor/tracing/trace.h"
#include "plait/transform/inside/derivatives/again.h"
#include "plait/transform/inside/derivatives/derivative.h"
#include "plait/transform/inside/derivatives/derived_functions.h"
#include "plait/transform/inside/derivatives/linear_map.h"
#include "plait/transform/inside/derivatives/recording.h"
#include "plait/transform/inside/derivatives/tangents.h"

namespace plait::customs {
namespace {

// Replaces empty cotangents by zeros.
Tensors made_whole(std::span<const Tensor> given, std::span<const OperandType> types) {
  Tensors whole;
  for (size_t i = 0; i < given.size(); ++i) {
    whole.push_back(given[i] ? given[i] : zeros_of(types[i]));
  }
  return whole;
}

Tensors below_all(std::span<const Tensor> tensors, uint64_t level) {
  Tensors outer;
  for (const Tensor& tensor : tensors) outer.push_back(below(tensor, level));
  return outer;
}

// The tape of the current trace, or of the code outside of all traces. It is opened once, but
// tensors may require gradients on it later, also within functions of newer levels.
const LevelPtr& tape_level() {
  Trace* const trace = Trace::current();
  return trace == nullptr ? Level::ground() : trace->tape_level();
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

// A result with the derivation that is seen by levels that do not use the rule.
struct Seen {
  size_t place;
  Tensor result;
};

Tensors from_level_all(std::span<const Tensor> tensors, uint64_t level) {
  Tensors inner;
  for (const Tensor& tensor : tensors) inner.push_back(from_level(tensor, level));
  return inner;
}

// The innermost level that follows one of them and differentiates; 0 if all of them transpose.
uint64_t innermost_level(std::span<const Tensor> arguments) {
  uint64_t innermost = 0;
  const auto meet = [&](const LevelPtr& level) {
    if (level->is_open() && !level->transposes()) innermost = std::max(innermost, level->number());
  };
  for (const Tensor& tensor : arguments) {
    if (!tensor.derivation()) continue;
    if (tensor.derivation()->origin) tensor.derivation()->origin.levels.for_each(meet);
    for (const auto& each : tensor.derivation()->tangents) meet(each->level);
  }
  return innermost;
}

// Runs the function when levels follow the arguments. The innermost of these levels uses the rule:
// the arguments are constants to it, and it follows the results through captured tensors only.
// Outer levels differentiate the computation of the results and of the residuals. Levels further in
// transpose the function itself, or follow captured tensors only.
struct Followed {
  uint64_t innermost;
  LevelPtr tape;  // if the tape is the innermost level, although its number is lower
  Tensors inputs, results, residuals;
  std::vector<Seen> seen;

  Followed(uint64_t level, std::span<const Tensor> arguments, const TensorFunction& function,
           const Forward& forward)
      : innermost(level), tape(innermost_tape(arguments)), inputs(inner(arguments)) {
    // A remat node is recomputed by operations alone, which do not know about levels.
    if (Sketch::current() != nullptr && open_levels_of(arguments).size() > 1) throw NeedsAllKept();
    std::tie(results, residuals) = forward(outer(arguments));
    if (tape) {
      add(results);
      return;
    }
    add(below_all(results, innermost + 1));
    const auto has_further_in = [&](std::span<const Tensor> tensors) {
      const std::vector<uint64_t> levels = open_levels_of(tensors);
      return !levels.empty() && levels.back() > innermost;
    };
    if (!has_further_in(arguments) && !has_further_in(results)) return;
    const control::Again again;
    Tensors further_in = function(arguments);
    for (Tensor& each : further_in) each = from_level(each, innermost + 1);
    add(further_in);
  }

  // `outer`: the arguments as the outer levels see them; `inner`: as the other levels do.
  Tensors outer(std::span<const Tensor> arguments) const {
    if (!tape) return below_all(arguments, innermost);
    Tensors found(arguments.begin(), arguments.end());
    for (Tensor& each : found) {
      if (each.derivation() && each.derivation()->origin) {
        each = with_levels(each, each.derivation()->origin.levels.without(LevelSet(tape)));
      }
    }
    return found;
  }
  Tensors inner(std::span<const Tensor> arguments) const {
    return tape ? from_level_all(below_all(arguments, tape->number() + 1), tape->number())
                : from_level_all(below_all(arguments, innermost + 1), innermost);
  }

 private:
  void add(std::span<const Tensor> found) {
    for (size_t i = 0; i < found.size(); ++i) {
      if (is_followed(found[i])) seen.push_back({i, found[i]});
    }
  }
};

// Follows the rule, and adds the derivatives through the seen results as further inputs.
Tensors follow_with(Custom custom, std::span<const Seen> seen) {
  if (seen.empty()) return follow_custom(custom);
  const size_t arguments = custom.inputs.size();
  std::vector<size_t> places;
  for (const Seen& each : seen) {
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

}  // namespace

void check_count(std::string_view what, size_t given, size_t wanted) {
  if (given == wanted) return;
  throw ValueError("{} returns {} tensors, expected {}", what, given, wanted)
      .at(Location::of_caller());
}

namespace {

constexpr const char* kFits =
    "a rule returns tensors of the shape and dtype of what it differentiates";

// Symbolic sizes may turn out to be equal.
bool may_be_same(const Shape& given, const Shape& wanted) {
  return std::ranges::equal(
      given, wanted, [](Dim a, Dim b) { return same(a, b) || !a.is_number() || !b.is_number(); });
}

Tensor fitted(std::string_view what, size_t number, const Tensor& given, const OperandType& type) {
  if (!given || !type.is_array()) return given;
  if (!ir::has_tangent(type.type())) return {};
  if (!may_be_same(given.shape(), type.shape())) {
    throw ShapeError("{}: number {} is {}, expected {}", what, number, given.type().text(),
                     type.text())
        .at(Location::of_caller())
        .hint(kFits);
  }
  if (is_complex(given.dtype()) && !is_complex(type.dtype())) {
    throw TypeError("{}: number {} is {}, expected {}", what, number, given.type().text(),
                    type.text())
        .at(Location::of_caller())
        .hint(kFits);
  }
  return given.dtype() == type.dtype() ? given : astype(given, type.dtype());
}

}  // namespace

Tensors fitted(std::string_view what, Tensors given, std::span<const OperandType> wanted) {
  check_count(what, given.size(), wanted.size());
  for (size_t i = 0; i < given.size(); ++i) given[i] = fitted(what, i, given[i], wanted[i]);
  return given;
}

bool is_recorded(std::span<const Tensor> arguments) {
  return Trace::current() != nullptr && !plait::is_followed(arguments);
}

bool is_followed(std::span<const Tensor> arguments) { return plait::is_followed(arguments); }

Tensors follow_vjp(std::span<const Tensor> arguments, const TensorFunction& function,
                   const Forward& forward, const Backward& backward) {
  Followed run(open_levels_of(arguments).back(), arguments, function, forward);
  const std::vector<OperandType> argument_types = types_of(arguments);
  const std::vector<OperandType> result_types = types_of(run.results);
  const auto pull = [=](std::span<const Tensor> cotangents, const Node::Kept& kept) {
    return fitted("custom_vjp: the backward function",
                  backward(kept.residuals, made_whole(cotangents, result_types)), argument_types);
  };
  const auto push = [=](std::span<const Tensor> tangents, const Node::Kept& kept, uint64_t level) {
    const auto map = [&](std::span<const Tensor> cotangents) { return pull(cotangents, kept); };
    return below_all(transpose_map(result_types, map, tangents), level);
  };
  return follow_with({.inputs = std::move(run.inputs),
                      .residuals = std::move(run.residuals),
                      .results = std::move(run.results),
                      .backward = pull,
                      .forward = push},
                     run.seen);
}

Tensors follow_jvp(std::span<const Tensor> arguments, const TensorFunction& function,
                   const Along& along) {
  const uint64_t innermost = innermost_level(arguments);
  if (innermost == 0) return function(arguments);
  const std::vector<OperandType> argument_types = types_of(arguments);
  // Higher derivatives go through the rule's computation of the results.
  const bool is_seen = open_levels_of(arguments).size() > 1 || Trace::current() != nullptr;
  const auto forward = [&](std::span<const Tensor> given) {
    const Tensors none(given.size());
    return std::pair(
        is_seen ? along(given, made_whole(none, argument_types)).first : function(given),
        Tensors());
  };
  Followed run(innermost, arguments, function, forward);
  const std::vector<OperandType> result_types = types_of(run.results);
  const auto tangents_at = [=](std::span<const Tensor> point, std::span<const Tensor> tangents) {
    return fitted("custom_jvp: the rule", along(point, made_whole(tangents, argument_types)).second,
                  result_types);
  };
  const auto push = [=](std::span<const Tensor> tangents, const Node::Kept& kept, uint64_t level) {
    return below_all(tangents_at(kept.residuals, tangents), level);
  };
  const auto pull = [=](std::span<const Tensor> cotangents, const Node::Kept& kept) {
    const auto map = [&](std::span<const Tensor> tangents) {
      return tangents_at(kept.residuals, tangents);
    };
    return transpose_map(argument_types, map, cotangents);
  };
  return follow_with({.inputs = std::move(run.inputs),
                      .residuals = run.outer(arguments),
                      .results = std::move(run.results),
                      .backward = pull,
                      .forward = push},
                     run.seen);
}

Tensors follow_captured(Tensors results, std::span<const Tensor> computed) {
  std::vector<Seen> seen;
  for (size_t i = 0; i < computed.size(); ++i) {
    if (is_followed(computed[i])) seen.push_back({i, computed[i]});
  }
  const auto nothing = [](std::span<const Tensor>, const Node::Kept&) { return Tensors(); };
  return follow_with({.inputs = {},
                      .residuals = {},
                      .results = std::move(results),
                      .backward = nothing,
                      .forward = {}},
                     seen);
}

}  // namespace plait::customs
