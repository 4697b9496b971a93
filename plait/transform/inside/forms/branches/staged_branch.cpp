#include "plait/transform/inside/forms/branches/staged_branch.h"

#include <algorithm>
#include <optional>

#include "plait/core/error.h"
#include "plait/ir/structure.h"
#include "plait/ops/random/random.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/derivatives/follow.h"
#include "plait/transform/inside/batching/varying.h"
#include "plait/transform/inside/derivatives/derived_functions.h"
#include "plait/transform/inside/derivatives/lifted_draws.h"
#include "plait/transform/inside/derivatives/rule_levels.h"
#include "plait/transform/inside/derivatives/tape_scope.h"
#include "plait/transform/inside/derivatives/taped.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"
#include "plait/transform/inside/forms/calls/open_recursion.h"
#include "plait/transform/inside/forms/calls/recursive_function.h"
#include "plait/transform/inside/forms/staged.h"
#include "plait/transform/inside/running/key_draws.h"

namespace plait::control {
namespace {

class Branches {
 public:
  Branches(ir::Structure structure, std::vector<StagedFunction> branches)
      : structure_(structure), branches_(std::move(branches)) {}

  Tensors run(const Tensor& index, std::span<const Tensor> given) const {
    if (!has_open_axes()) return run_agreed(index, given);
    Tensors operands(given.begin(), given.end());
    for (Tensor& operand : operands) operand = vary_along(operand, axes_of(index));
    return agreed(axes_of(index), ir_types_of(operands)).run_agreed(index, operands);
  }

 private:
  // In every branch, the results vary along the same axes, including those of the index.
  Branches agreed(const ir::AxisSet& deciding, const std::vector<ir::Type>& types) const {
    Branches all = *this;
    std::vector<ir::AxisSet> axes;
    for (StagedFunction& branch : all.branches_) {
      branch = of_types(branch, types);
      const std::vector<ir::AxisSet> here = axes_of_results(branch);
      axes.resize(here.size(), deciding);
      for (size_t i = 0; i < axes.size(); ++i) axes[i].insert(here[i]);
    }
    for (StagedFunction& branch : all.branches_) branch = with_results_along(branch, axes);
    return all;
  }

  Tensors run_agreed(const Tensor& index, std::span<const Tensor> operands) const {
    const Tensors all = joined({{&index, 1}, operands});
    std::vector<NewCallee> callees;
    for (const StagedFunction& branch : branches_) {
      callees.push_back({branch.function->name(), ir_types_of(operands), branch});
    }
    if (!is_followed(operands)) return record(all, callees);
    const std::vector<bool> wanted = which_are_followed(operands);
    if (should_keep_tapes(operands)) {
      if (auto results = run_with_tapes(all, wanted)) return *results;
    }
    const auto has_rules = [](const StagedFunction& each) { return customs::has_rules(each); };
    if (std::ranges::any_of(branches_, has_rules)) {
      if (customs::are_several_levels(operands)) return run_by_levels(index, operands);
      for (size_t i = 0; i < callees.size(); ++i) {
        callees[i].function = customs::without_rules(branches_[i]);
      }
    }
    return follow(record(all, callees), all, wanted,
                  [self = *this, wanted](auto... given) { return self.pull(given..., wanted); });
  }

  // The innermost level uses the rules in the branches.
  Tensors run_by_levels(const Tensor& index, std::span<const Tensor> operands) const {
    const customs::RuleLevels levels(operands);
    const Tensors outer = levels.outer(operands), inner = levels.inner(operands);
    std::vector<StagedFunction> computing;
    for (const StagedFunction& branch : branches_) {
      computing.push_back(stage(branch.function->name(), ir_types_of(outer),
                                customs::without_rules(branch), {.beside = outer}));
    }
    const Tensors found = Branches(structure_, std::move(computing)).run_agreed(index, outer);
    const std::vector<bool> wanted = which_are_followed(inner), inexact = which_are_inexact(found);
    return customs::follow_with(
        {.inputs = inner,
         .residuals = joined({{&index, 1}, outer}),
         .results = found,
         .backward =
             [self = *this, wanted](auto cotangents, const Node::Kept& kept) {
               return spread(self.pull(kept.residuals, cotangents, wanted), wanted);
             },
         .forward = [self = *this, inexact](
                        auto tangents, const Node::Kept& kept,
                        uint64_t) { return spread(self.push(kept.residuals, tangents), inexact); }},
        customs::seen_results(found));
  }

  Tensors record(std::span<const Tensor> operands, std::span<const NewCallee> callees) const {
    return record_with_callees(ir::primitive(structure_), operands, {}, callees);
  }

  template <class Pull>
  Tensors follow(Tensors results, Tensors residuals, const std::vector<bool>& wanted,
                 const Pull& pull) const {
    const size_t count = wanted.size() + 1;  // the index and the operands
    const std::vector<bool> inexact = which_are_inexact(results);
    return follow_custom(
        {.inputs = {residuals.begin() + 1, residuals.begin() + static_cast<std::ptrdiff_t>(count)},
         .residuals = std::move(residuals),
         .results = std::move(results),
         .backward =
             [pull, wanted](auto cotangents, const Node::Kept& kept) {
               return spread(pull(kept.residuals, cotangents), wanted);
             },
         .forward =
             [self = *this, inexact, count](auto tangents, const Node::Kept& kept, uint64_t) {
               return spread(self.push(kept.residuals.first(count), tangents), inexact);
             }});
  }

  // ---- Taped recursion: a branch with a recursive call is not recomputed in the backward
  // pass, since that would repeat all deeper calls at each depth. It returns its tape as a
  // further result.

  bool should_keep_tapes(std::span<const Tensor> operands) const {
    if (!TapeScope::is_open() || !is_followed_in_reverse(operands)) return false;
    return std::ranges::any_of(branches_, [](const StagedFunction& branch) {
      return has_open_calls(branch.program) || has_recursion(branch.program);
    });
  }

  // Returns nothing if a tape has sizes that are known only within a branch.
  std::optional<Tensors> run_with_tapes(std::span<const Tensor> all,
                                        const std::vector<bool>& wanted) const {
    const std::vector<ir::Type> types = ir_types_of(all.subspan(1));
    std::vector<Taped> taped;
    std::vector<StagedFunction> forward;
    for (const StagedFunction& branch : branches_) {
      forward.push_back(stage(branch.function->name(), types,
                              [&](auto given) {
                                taped.push_back(record_taped(branch, given, wanted));
                                return joined(
                                    {taped.back().results, taped.back().backward.captures});
                              },
                              {.beside = all.subspan(1)}));
    }
    std::vector<ir::Type> tapes;
    std::vector<StagedFunction> backward;
    const size_t count = taped[0].results.size();
    for (size_t i = 0; i < taped.size(); ++i) {
      const auto& given = forward[i].function->signature();
      if (!given.result_sizes.empty()) return std::nullopt;
      tapes.push_back(ir::Type::optional(ir::Type::tuple(
          {given.results.begin() + static_cast<std::ptrdiff_t>(count), given.results.end()})));
      backward.push_back(taped[i].backward);
    }
    std::vector<NewCallee> callees;
    for (size_t i = 0; i < forward.size(); ++i) {
      callees.push_back({forward[i].function->name(), types, [&, i](auto given) {
                           return with_tapes(forward[i](given), count, tapes, i);
                         }});
    }
    Tensors results = record(all, callees);
    const Tensors residuals = joined({all, std::span(results).subspan(count)});
    results.resize(count);
    return follow(std::move(results), residuals, wanted,
                  [self = *this, wanted, backward](std::span<const Tensor> kept,
                                                   std::span<const Tensor> cotangents) {
                    return self.pull_tapes(backward, kept, cotangents, wanted);
                  });
  }

  // The results of a branch, and one optional tape for each branch: present for this branch only.
  static Tensors with_tapes(const Tensors& given, size_t count, const std::vector<ir::Type>& tapes,
                            size_t branch) {
    Trace& trace = *Trace::current();
    Tensors all(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(count));
    for (size_t i = 0; i < tapes.size(); ++i) {
      if (i != branch) {
        all.push_back(trace.record({.primitive = ir::primitive(ir::Structure::absent),
                                    .stated_types = {&tapes[i], 1}})[0]);
        continue;
      }
      const Tensor tape = trace.record({.primitive = ir::primitive(ir::Structure::tuple),
                                        .operands = std::span(given).subspan(count)})[0];
      all.push_back(trace.record(
          {.primitive = ir::primitive(ir::Structure::present), .operands = {&tape, 1}})[0]);
    }
    return all;
  }

  Tensors pull_tapes(const std::vector<StagedFunction>& backward, std::span<const Tensor> kept,
                     std::span<const Tensor> given, const std::vector<bool>& wanted) const {
    const size_t count = wanted.size() + 1;
    const auto all = kept.first(count), tapes = kept.subspan(count);
    if (is_followed(all) || is_followed(present_of(given))) return pull(all, given, wanted);
    const Tensors cotangents = all_cotangents(*branches_[0].function, all.subspan(1), given);
    const Tensors operands = joined({cotangents, tapes});
    std::vector<NewCallee> callees;
    for (size_t i = 0; i < backward.size(); ++i) {
      callees.push_back({backward[i].function->name(), ir_types_of(operands), [&, i](auto taken) {
                           return backward[i](joined({taken.first(cotangents.size()),
                                                      fields_of(taken[cotangents.size() + i])}));
                         }});
    }
    return record(joined({all.first(1), operands}), callees);
  }

  static Tensors fields_of(const Tensor& tape) {
    Trace& trace = *Trace::current();
    const Tensor tuple = trace.record(
        {.primitive = ir::primitive(ir::Structure::unwrap), .operands = {&tape, 1}})[0];
    Tensors fields;
    for (size_t i = 0; i < tuple.type().elements().size(); ++i) {
      fields.push_back(trace.record(
          {.primitive = ir::primitive(ir::Structure::element),
           .operands = {&tuple, 1},
           .attributes = ir::Attributes::of(ir::ElementAttributes{static_cast<int64_t>(i)})})[0]);
    }
    return fields;
  }

  // ---- Recomputing derivatives.

  Tensors pull(std::span<const Tensor> all, std::span<const Tensor> cotangents,
               const std::vector<bool>& wanted) const {
    const std::vector<bool> arrived = which_are_present(cotangents);
    const size_t count = all.size() - 1;
    return each(all, present_of(cotangents), [&](const StagedFunction& branch, auto given) {
      return pulled(branch, given.first(count), wanted, spread(given.subspan(count), arrived));
    });
  }

  Tensors push(std::span<const Tensor> all, std::span<const Tensor> tangents) const {
    const std::vector<bool> moving = which_are_present(tangents);
    const size_t count = all.size() - 1;
    return each(all, present_of(tangents), [&](const StagedFunction& branch, auto given) {
      return pushed(branch, given.first(count), spread(given.subspan(count), moving)).second;
    });
  }

  // Builds the same choice between functions derived from the branches, with further operands.
  template <class Make>
  Tensors each(std::span<const Tensor> all, const Tensors& more, const Make& make) const {
    const Tensors operands = joined({all.subspan(1), more});
    std::vector<StagedFunction> made;
    for (const StagedFunction& branch : branches_) {
      made.push_back(stage(branch.function->name(), ir_types_of(operands),
                           [&](auto given) { return make(branch, given); }, {.beside = operands}));
    }
    return Branches(structure_, std::move(made)).run(all[0], operands);
  }

  ir::Structure structure_;
  std::vector<StagedFunction> branches_;
};

// TypeError unless all branches return the same types.
void expect_alike(const std::vector<StagedFunction>& branches) {
  const ir::Function& first = *branches[0].function;
  for (const StagedFunction& branch : branches) {
    const ir::Function& other = *branch.function;
    const auto &a = first.signature().results, &b = other.signature().results;
    if (a.size() != b.size()) {
      throw TypeError("one branch returns {} tensors ({}), another {} ({})", a.size(),
                      first.location().text(), b.size(), other.location().text())
          .at(Location::of_caller());
    }
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i] || ir::fits_but_for_axes(a[i], b[i])) continue;
      throw TypeError("result {} is {} in one branch ({}), {} in another ({})", i, a[i].text(),
                      first.location().text(), b[i].text(), other.location().text())
          .at(Location::of_caller());
    }
  }
}

}  // namespace

Tensors stage_branches(ir::Structure structure, const Tensor& index,
                       const std::vector<TensorFunction>& branches,
                       std::span<const Tensor> operands) {
  const std::vector<ir::Type> types = ir_types_of(operands);
  std::vector<StagedFunction> staged;
  std::optional<UnknownResults> unknown;
  for (const TensorFunction& each : branches) {
    try {
      staged.push_back(stage("branch", types, each, {.beside = operands}));
    } catch (const UnknownResults& thrown) {
      unknown = thrown;
    }
  }
  if (staged.empty()) throw UnknownResults(unknown->function);
  expect_alike(staged);
  if (unknown) return placeholder_results(staged[0].function->signature().results);
  const auto draws = [](const StagedFunction& each) { return draws_keys(each.program); };
  if (std::ranges::any_of(staged, draws)) {
    const Tensor key = random::draw_key();
    std::vector<TensorFunction> with_keys;
    for (const StagedFunction& each : staged) with_keys.push_back(with_key(each));
    return stage_branches(structure, index, with_keys, joined({operands, {&key, 1}}));
  }
  Captures captures(operands);
  std::vector<std::vector<size_t>> places;
  for (const StagedFunction& each : staged) places.push_back(captures.add(each));
  for (size_t i = 0; i < staged.size(); ++i) {
    staged[i] = captures.of_operands(staged[i], places[i]);
  }
  return Branches(structure, std::move(staged)).run(index, captures.operands());
}

}  // namespace plait::control
