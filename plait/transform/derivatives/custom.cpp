#include "plait/transform/derivatives/custom.h"

#include <algorithm>
#include <iterator>

#include "plait/core/error.h"
#include "plait/ir/structure.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/inside/derivatives/again.h"
#include "plait/transform/inside/derivatives/derivative.h"
#include "plait/transform/inside/derivatives/derived_functions.h"
#include "plait/transform/inside/derivatives/linear_map.h"
#include "plait/transform/inside/derivatives/recording.h"
#include "plait/transform/inside/derivatives/rule_levels.h"
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
  RuleLevels levels;
  Tensors inputs, results, residuals;
  std::vector<SeenResult> seen;

  Followed(uint64_t innermost, std::span<const Tensor> arguments, const TensorFunction& function,
           const Forward& forward)
      : levels(innermost, arguments), inputs(levels.inner(arguments)) {
    // A remat node is recomputed by operations alone, which do not know about levels.
    if (Sketch::current() != nullptr && open_levels_of(arguments).size() > 1) throw NeedsAllKept();
    std::tie(results, residuals) = forward(levels.outer(arguments));
    if (levels.is_tape()) {
      seen = seen_results(results);
      return;
    }
    seen = seen_results(below_all(results, innermost + 1));
    const auto has_further_in = [&](std::span<const Tensor> tensors) {
      const std::vector<uint64_t> open = open_levels_of(tensors);
      return !open.empty() && open.back() > innermost;
    };
    if (!has_further_in(arguments) && !has_further_in(results)) return;
    const control::Again again;
    Tensors further_in = function(arguments);
    for (Tensor& each : further_in) each = from_level(each, innermost + 1);
    std::ranges::copy(seen_results(further_in), std::back_inserter(seen));
  }
};

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
                      .residuals = run.levels.outer(arguments),
                      .results = std::move(run.results),
                      .backward = pull,
                      .forward = push},
                     run.seen);
}

Tensors follow_captured(Tensors results, std::span<const Tensor> computed) {
  const auto nothing = [](std::span<const Tensor>, const Node::Kept&) { return Tensors(); };
  return follow_with({.inputs = {},
                      .residuals = {},
                      .results = std::move(results),
                      .backward = nothing,
                      .forward = {}},
                     seen_results(computed));
}

}  // namespace plait::customs
