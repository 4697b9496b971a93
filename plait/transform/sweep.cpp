#include "plait/transform/sweep.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ops/elementwise.h"
#include "plait/transform/derivative.h"
#include "plait/transform/linear_function.h"

namespace plait {
namespace {

// The results that rules read, with the step as where they come from again.
std::vector<Tensor> results_of(const StepPtr& step) {
  std::vector<Tensor> results = step->results;
  const LevelSet levels = step->levels.still_open();
  if (levels.empty()) return results;
  for (uint32_t i = 0; i < results.size(); ++i) {
    if (!results[i] || !is_inexact(results[i].dtype())) continue;
    Derivation derivation;
    if (results[i].derivation()) derivation = *results[i].derivation();
    derivation.origin = {step, i, levels};
    results[i] =
        results[i].with_derivation(std::make_shared<const Derivation>(std::move(derivation)));
  }
  return results;
}

// Hooks see what came together, in the order in which they were added, and may replace it.
void tell(Listeners& listeners, std::vector<Tensor>& cotangents) {
  std::vector<Listeners::Entry> hooks;
  {
    const std::lock_guard lock(listeners.mutex);
    hooks = listeners.hooks;
  }
  for (const Listeners::Entry& entry : hooks) {
    Tensor& cotangent = cotangents[entry.result];
    if (!cotangent) continue;
    if (Tensor replaced = entry.hook(cotangent)) cotangent = std::move(replaced);
  }
}

void forget(Step& step) {
  step.is_spent = true;
  step.operands.clear();
  step.results.clear();
  step.backward = {};
  step.inputs.clear();
}

[[noreturn]] void refuse_spent(const Step& step) {
  throw ValueError("the gradient of {} was taken before, and what it needs is gone",
                   step.primitive ? step.primitive->name : "a function")
      .at(Location::of_caller())
      .hint("say `keep` (retain_graph) the first time");
}

}  // namespace

void Sweep::add(const Origin& origin, const Tensor& cotangent) {
  if (!cotangent || !follows(origin)) return;
  const auto [place, is_new] = cotangents_.try_emplace(origin.step.get());
  std::vector<Tensor>& of_results = place->second;
  if (is_new) {
    of_results.resize(origin.step->result_types.size());
    waiting_.push_back(origin.step);
    std::ranges::push_heap(waiting_, Later());
  }
  Tensor& total = of_results[origin.result];
  total = total ? plait::add(total, cotangent) : cotangent;
}

void Sweep::run(const SweepOptions& options) {
  const Steps wanted(options.wanted.begin(), options.wanted.end());
  const Steps stops(options.stops.begin(), options.stops.end());
  if (options.only_wanted) only_ = leading_to(wanted);
  while (!waiting_.empty()) {
    const StepPtr step = take_latest();
    std::vector<Tensor> cotangents = std::move(cotangents_.extract(step.get()).mapped());
    if (step->listeners) tell(*step->listeners, cotangents);
    if (wanted.contains(step.get())) kept_[step.get()] = cotangents;
    if (stops.contains(step.get()) || (only_ && !only_->contains(step.get()))) continue;
    if (step->is_spent) refuse_spent(*step);
    const bool is_beginning =
        std::ranges::none_of(step->inputs, [&](const Origin& input) { return follows(input); });
    if (is_beginning) {
      if (options.at_beginning && cotangents[0]) options.at_beginning(*step, cotangents[0]);
      continue;
    }
    pull_through(step, cotangents);
    if (!options.keep && !step->levels.has_unclosed_besides(level_)) forget(*step);
  }
}

StepPtr Sweep::take_latest() {
  std::ranges::pop_heap(waiting_, Later());
  StepPtr step = std::move(waiting_.back());
  waiting_.pop_back();
  return step;
}

// The steps from which a wanted one can be reached; found by going over all that are waiting and
// what lies below them, the earliest first.
Sweep::Steps Sweep::leading_to(const Steps& wanted) const {
  std::vector<const Step*> all;
  Steps seen;
  const auto visit = [&](const Step* step) {
    if (seen.insert(step).second) all.push_back(step);
  };
  for (const StepPtr& step : waiting_) visit(step.get());
  for (size_t i = 0; i < all.size(); ++i) {
    for (const Origin& input : all[i]->inputs) {
      if (follows(input)) visit(input.step.get());
    }
  }
  std::ranges::sort(all, {}, [](const Step* step) { return step->number; });
  Steps leading = wanted;
  for (const Step* step : all) {
    const bool leads = std::ranges::any_of(step->inputs, [&](const Origin& input) {
      return follows(input) && leading.contains(input.step.get());
    });
    if (leads) leading.insert(step);
  }
  return leading;
}

Tensor Sweep::at(const Step& wanted, uint32_t result) const {
  const auto place = kept_.find(&wanted);
  return place == kept_.end() ? Tensor() : place->second[result];
}

void Sweep::pull_through(const StepPtr& pointer, std::span<const Tensor> cotangents) {
  const Step& step = *pointer;
  std::vector<bool> wanted;
  for (const Origin& input : step.inputs) {
    wanted.push_back(follows(input) && (!only_ || only_->contains(input.step.get())));
  }
  if (std::ranges::find(wanted, true) == wanted.end()) return;
  std::vector<Tensor> given;
  if (step.backward) {
    given = step.backward(cotangents);
  } else if (step.primitive == nullptr) {
    given = {cotangents[0]};
  } else {
    const std::vector<Tensor> results = results_of(pointer);
    given = pull_back({*step.primitive, step.attributes, step.operands, results, step.operand_types,
                       step.result_types},
                      cotangents, wanted);
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) add(step.inputs[i], given[i]);
  }
}

namespace {

// All steps of the level that lead to these, the earliest first.
std::vector<StepPtr> steps_to(const Level& level, std::span<const Origin> results) {
  std::vector<StepPtr> all;
  std::unordered_set<const Step*> seen;
  const auto visit = [&](const Origin& origin) {
    const bool is_new =
        origin && origin.levels.contains(level) && seen.insert(origin.step.get()).second;
    if (is_new) all.push_back(origin.step);
  };
  for (const Origin& result : results) visit(result);
  for (size_t i = 0; i < all.size(); ++i) {
    for (const Origin& input : all[i]->inputs) visit(input);
  }
  std::ranges::sort(all, {}, [](const StepPtr& step) { return step->number; });
  return all;
}

std::vector<Tensor> push_through(const StepPtr& step, std::span<const Tensor> tangents) {
  if (step->is_spent) refuse_spent(*step);
  if (step->backward) return LinearMap::of(step->result_types, step->backward).transpose(tangents);
  if (step->primitive == nullptr) return {tangents[0]};
  const std::vector<Tensor> results = results_of(step);
  return push_forward({*step->primitive, step->attributes, step->operands, results,
                       step->operand_types, step->result_types},
                      tangents);
}

}  // namespace

std::vector<Tensor> sweep_forward(const Level& level, std::span<const Origin> results,
                                  std::span<const StepPtr> beginnings,
                                  std::span<const Tensor> tangents) {
  std::unordered_map<const Step*, std::vector<Tensor>> found;
  for (size_t i = 0; i < beginnings.size(); ++i) {
    if (beginnings[i]) found[beginnings[i].get()] = {tangents[i]};
  }
  const auto tangent_at = [&](const Origin& origin) {
    const bool is_followed = origin && origin.levels.contains(level);
    const auto place = is_followed ? found.find(origin.step.get()) : found.end();
    return place == found.end() || place->second.empty() ? Tensor() : place->second[origin.result];
  };
  for (const StepPtr& step : steps_to(level, results)) {
    if (found.contains(step.get())) continue;
    std::vector<Tensor> incoming;
    bool is_zero = true;
    for (const Origin& input : step->inputs) {
      incoming.push_back(tangent_at(input));
      is_zero = is_zero && !incoming.back();
    }
    if (is_zero) continue;
    std::vector<Tensor>& outgoing = found[step.get()];
    outgoing = push_through(step, incoming);
    outgoing.resize(step->result_types.size());
  }
  std::vector<Tensor> given;
  for (const Origin& result : results) given.push_back(tangent_at(result));
  return given;
}

}  // namespace plait
