#include "plait/transform/inside/forms/calls/recursion_derivatives.h"

#include "plait/ir/structure.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/transform/derivatives/follow.h"
#include "plait/transform/inside/derivatives/derived_functions.h"
#include "plait/transform/inside/derivatives/rule_levels.h"
#include "plait/transform/inside/derivatives/tangents.h"
#include "plait/transform/inside/derivatives/tape_scope.h"
#include "plait/transform/inside/derivatives/taped.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"
#include "plait/transform/inside/forms/calls/recursion_tape.h"
#include "plait/transform/inside/forms/calls/staged_recursion.h"

namespace plait {
namespace {

using Tensors = std::vector<Tensor>;

// ---- Forward mode.

LevelPtr innermost_level(std::span<const Tensor> operands) {
  LevelPtr level;
  for (const Tensor& operand : operands) {
    if (!operand.derivation()) continue;
    for (const auto& each : operand.derivation()->tangents) {
      if (!each->level->is_open()) continue;
      if (!level || each->level->number() > level->number()) level = each->level;
    }
  }
  return level;
}

// JVP: returns the results, and the tangents of the inexact ones.
Tensors push(const RecursiveFunction& function, std::span<const Tensor> operands,
             std::span<const Tensor> tangents) {
  const ir::Signature& signature = function.signature();
  const std::vector<bool> moving = which_are_present(tangents);
  Derived made{"jvp" + bits(moving), signature, {}};
  for (size_t i = 0; i < moving.size(); ++i) {
    if (moving[i]) made.signature.parameters.push_back(signature.parameters[i]);
  }
  for (const ir::Type& type : signature.results) {
    if (ir::has_tangent(type)) made.signature.results.push_back(type);
  }
  made.body = [&function, moving](std::span<const Tensor> given) {
    auto [values, moved] = control::pushed(function.body(), given.first(moving.size()),
                                           spread(given.subspan(moving.size()), moving), false);
    for (size_t i = 0, next = 0; i < values.size(); ++i) {
      if (!has_tangent(values[i])) continue;
      moved[next] = control::or_zeros(moved[next], values[i]);
      ++next;
    }
    return joined({values, moved});
  };
  return call_derived(function, made, joined({operands, present_of(tangents)}));
}

// ---- Reverse mode: a function of the operands and cotangents. It recomputes everything, so it
// can be differentiated again. With tapes, that is when no further derivative follows, it takes a
// tape instead (recursion_tape.h).

// Reverse derivative without a tape.
Derived recomputing(const RecursiveFunction& function, const std::vector<bool>& wanted,
                    const std::vector<bool>& inexact) {
  const ir::Signature& signature = function.signature();
  Derived made{"vjp" + bits(wanted), signature, {}};
  made.pulled = std::make_shared<const RecursiveFunction>(function.program(), function.function());
  made.signature.results.clear();
  for (size_t i = 0; i < inexact.size(); ++i) {
    if (inexact[i]) made.signature.parameters.push_back(signature.results[i]);
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    made.signature.results.push_back(signature.parameters[i]);
    made.wanted.push_back(static_cast<int64_t>(i));
  }
  made.body = [&function, wanted, inexact](std::span<const Tensor> given) {
    return present_of(control::pulled(function.body(), given.first(wanted.size()), wanted,
                                      spread(given.subspan(wanted.size()), inexact)));
  };
  return made;
}

Tensors pull(const RecursiveFunction& function, std::span<const Tensor> operands,
             std::span<const Tensor> tape, const std::vector<bool>& wanted,
             const std::vector<bool>& inexact, std::span<const Tensor> given) {
  const Tensors cotangents = all_cotangents(function.function(), operands, given);
  const bool is_simple = !is_followed(operands) && !is_followed(cotangents);
  if (!tape.empty() && is_simple) {
    return RecursionTape(function, wanted).backward(joined({tape, cotangents}));
  }
  return call_derived(function, recomputing(function, wanted, inexact),
                      joined({operands, cotangents}));
}

// Derivatives by both modes. `residuals`: the operands as outer levels see them, and the tape.
Custom custom(const RecursiveFunction& function, Tensors inputs, Tensors residuals, Tensors results,
              const std::vector<bool>& wanted) {
  const std::vector<bool> inexact = control::which_are_inexact(results);
  const size_t count = inputs.size();
  return {.inputs = std::move(inputs),
          .residuals = std::move(residuals),
          .results = std::move(results),
          .backward =
              [=](auto cotangents, const Node::Kept& kept) {
                return spread(pull(function, kept.residuals.first(count),
                                   kept.residuals.subspan(count), wanted, inexact, cotangents),
                              wanted);
              },
          .forward =
              [=](auto tangents, const Node::Kept& kept, uint64_t) {
                const Tensors all = push(function, kept.residuals.first(count), tangents);
                return spread(std::span(all).subspan(inexact.size()), inexact);
              }};
}

// ---- Functions with rules of their own.

// The recursion as its rules compute it, and without rules: what outer levels differentiate.
Derived computing(const RecursiveFunction& function) {
  return {"computing", function.signature(), customs::without_rules(function.body())};
}

// The innermost level uses the rules.
Tensors follow_by_levels(const RecursiveFunction& function, std::span<const Tensor> operands) {
  const customs::RuleLevels levels(operands);
  const Tensors outer = levels.outer(operands), inner = levels.inner(operands);
  const Tensors found = call_derived(function, computing(function), outer);
  return customs::follow_with(
      custom(function, inner, outer, found, control::which_are_followed(inner)),
      customs::seen_results(found));
}

// The values of the results, followed by the tape if one is kept.
Tensors results_and_tape(const RecursiveFunction& function, std::span<const Tensor> values,
                         const std::vector<bool>& wanted) {
  const bool has_rules = customs::has_rules(function.program(), function.function());
  // A call within the function that `computing` makes.
  OpenRecursion* const open = has_rules ? find_open(function, "computing", values) : nullptr;
  if (open != nullptr) return open->call(values);
  if (TapeScope::is_open()) return RecursionTape(function, wanted).forward(values);
  return has_rules ? call_derived(function, computing(function), values)
                   : record_recursive(function, values);
}

}  // namespace

Tensors follow_forward(const RecursiveFunction& function, std::span<const Tensor> operands) {
  const LevelPtr level = innermost_level(operands);
  Tensors values, tangents;
  for (const Tensor& operand : operands) {
    values.push_back(below(operand, level->number()));
    tangents.push_back(tangent_of(operand, *level));
  }
  Tensors results = push(function, values, tangents);
  const size_t count = function.signature().results.size();
  for (size_t i = 0, next = count; i < count; ++i) {
    if (!has_tangent(results[i])) continue;
    results[i] = with_tangent(results[i], level, results[next++]);
  }
  results.resize(count);
  return results;
}

Tensors follow_in_reverse(const RecursiveFunction& function, std::span<const Tensor> operands) {
  if (customs::are_several_levels(operands) &&
      customs::has_rules(function.program(), function.function())) {
    return follow_by_levels(function, operands);
  }
  const std::vector<bool> wanted = control::which_are_followed(operands);
  const size_t count = function.signature().results.size();
  const Tensors taken(operands.begin(), operands.end());
  Tensors values;
  for (const Tensor& operand : operands) values.push_back(underived(operand));
  Tensors results = results_and_tape(function, values, wanted);
  const Tensors tape(results.begin() + ptr(count), results.end());
  results.resize(count);
  return follow_custom(custom(function, taken, joined({taken, tape}), std::move(results), wanted));
}

}  // namespace plait
