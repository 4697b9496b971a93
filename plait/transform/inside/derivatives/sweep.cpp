#include "plait/transform/inside/derivatives/sweep.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/tensor/inside/kernel_anomaly.h"
#include "plait/tensor/tracing/trace.h"
#include "plait/transform/inside/derivatives/derivative.h"
#include "plait/transform/inside/derivatives/linear_map.h"
#include "plait/transform/inside/derivatives/recording.h"
#include "plait/transform/inside/derivatives/tangents.h"

namespace plait {
namespace {

// The results that rules read, with this step as their origin. Levels that a trace pauses are
// included: the captures of a trace are followed where its function is used.
std::vector<Tensor> results_of(const StepPtr& step) {
  std::vector<Tensor> results = step->results;
  const LevelSet levels = step->levels.differentiable_levels();
  if (levels.empty()) return results;
  for (uint32_t i = 0; i < results.size(); ++i) {
    if (!results[i] || !has_tangent(results[i])) continue;
    Derivation derivation;
    if (results[i].derivation()) derivation = *results[i].derivation();
    derivation.origin = {step, i, levels};
    results[i] =
        results[i].with_derivation(std::make_shared<const Derivation>(std::move(derivation)));
  }
  return results;
}

// The levels, of both modes, that may differentiate the repeated run.
LevelSet levels_of_recording(const Step& step) {
  LevelSet levels = step.levels;
  for (const Tensor& operand : step.operands) {
    if (!operand || !operand.derivation()) continue;
    for (const auto& each : operand.derivation()->tangents) {
      levels = levels.with(LevelSet(each->level));
    }
  }
  return levels.differentiable_levels();
}

// Runs the operations of a step again, and returns the origins of the new results. The run is in
// the trace of the first one, so that other levels follow it too, through the stored operands.
std::vector<Origin> origins_again(const Step& step, const Level& level) {
  std::vector<Origin> origins;
  const Trace::WhereFollowed there(levels_of_recording(step));
  const LevelResume resume(level);
  for (const Tensor& result : step.recording->run(step.operands, Recording::Want::derivatives)) {
    origins.push_back(result.derivation() ? result.derivation()->origin : Origin());
  }
  return origins;
}

std::unordered_set<uint64_t> numbers_of(std::span<const Step* const> steps) {
  std::unordered_set<uint64_t> numbers;
  for (const Step* step : steps) numbers.insert(step->number);
  return numbers;
}

std::vector<Tensor> backward_of(const StepPtr& step, std::span<const Tensor> cotangents) {
  const std::vector<Tensor> results = results_of(step);
  return step->backward(cotangents, {std::span(step->operands).last(step->residuals), results});
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

void forget(Step& step) {
  step.is_spent = true;
  step.operands.clear();
  step.results.clear();
  step.backward = {};
  step.forward = {};
  step.recording = {};
  step.inputs.clear();
}

[[noreturn]] void refuse_spent(const Step& step) {
  const std::string_view what =
      step.primitive ? std::string_view(step.primitive->name) : "a function";
  if (step.sketch != 0) {
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
  total = sum_of(total, cotangent);
}

void Sweep::run(const SweepOptions& options) {
  const Steps wanted = numbers_of(options.wanted), stops = numbers_of(options.stops);
  if (options.only_wanted) {
    only_ = wanted;
    std::vector<const Step*> all;
    for (const StepPtr& step : waiting_) all.push_back(step.get());
    add_leading(std::move(all), 0);
  }
  while (!waiting_.empty()) {
    const StepPtr step = take_latest();
    std::vector<Tensor> cotangents = std::move(cotangents_.extract(step.get()).mapped());
    if (step->listeners) tell(*step->listeners, cotangents);
    if (wanted.contains(step->number)) kept_[step.get()] = cotangents;
    if (stops.contains(step->number) || (only_ && !only_->contains(step->number))) continue;
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

// Finds the steps after `later_than` on which these depend and that lead to a wanted step, the
// earliest first.
void Sweep::add_leading(std::vector<const Step*> steps, uint64_t later_than) {
  std::unordered_set<const Step*> seen(steps.begin(), steps.end());
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const Origin& input : steps[i]->inputs) {
      const Step* const step = input.step.get();
      const bool is_new = follows(input) && step->number > later_than && seen.insert(step).second;
      if (is_new) steps.push_back(step);
    }
  }
  std::ranges::sort(steps, {}, [](const Step* step) { return step->number; });
  for (const Step* step : steps) {
    const bool leads = std::ranges::any_of(step->inputs, [&](const Origin& input) {
      return follows(input) && only_->contains(input.step->number);
    });
    if (leads) only_->insert(step->number);
  }
}

Tensor Sweep::at(const Step& wanted, uint32_t result) const {
  const auto place = kept_.find(&wanted);
  return place == kept_.end() ? Tensor() : place->second[result];
}

void Sweep::pull_through(const StepPtr& pointer, std::span<const Tensor> cotangents) {
  const Step& step = *pointer;
  const LocationScope place(step.location.in_backward_pass());
  const BackwardPassOf pass(step.primitive);
  std::vector<bool> wanted;
  for (const Origin& input : step.inputs) {
    wanted.push_back(follows(input) && (!only_ || only_->contains(input.step->number)));
  }
  if (std::ranges::find(wanted, true) == wanted.end()) return;
  if (step.recording) return pull_through_again(step, cotangents);
  std::vector<Tensor> given;
  if (step.backward) {
    given = backward_of(pointer, cotangents);
    given.resize(wanted.size());
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

// The steps of the second run replace the step that represented them.
void Sweep::pull_through_again(const Step& step, std::span<const Tensor> cotangents) {
  const uint64_t latest = Step::newest_number();
  const std::vector<Origin> results = origins_again(step, level_);
  if (only_) {
    std::vector<const Step*> ends;
    for (const Origin& result : results) {
      if (follows(result) && result.step->number > latest) ends.push_back(result.step.get());
    }
    add_leading(std::move(ends), latest);
  }
  for (size_t i = 0; i < results.size(); ++i) add(results[i], cotangents[i]);
}

namespace {

// Forward mode through the steps of a level, from its beginnings or continuing another sweep.
class ForwardSweep {
 public:
  explicit ForwardSweep(const Level& level, const ForwardSweep* before = nullptr)
      : level_(level), before_(before) {}

  void begin(const Step& beginning, const Tensor& tangent) { found_[&beginning] = {tangent}; }

  std::vector<Tensor> run(std::span<const Origin> results) {
    for (const StepPtr& step : steps_to(results)) {
      std::vector<Tensor> incoming;
      bool is_zero = true;
      for (const Origin& input : step->inputs) {
        incoming.push_back(tangent_at(input));
        is_zero = is_zero && !incoming.back();
      }
      if (is_zero) continue;
      std::vector<Tensor> outgoing = push_through(step, incoming);
      outgoing.resize(step->result_types.size());
      found_[step.get()] = std::move(outgoing);
    }
    std::vector<Tensor> given;
    for (const Origin& result : results) given.push_back(tangent_at(result));
    return given;
  }

 private:
  Tensor tangent_at(const Origin& origin) const {
    const bool is_followed = origin && origin.levels.contains(level_);
    const std::vector<Tensor>* const tangents = is_followed ? find(*origin.step) : nullptr;
    return tangents == nullptr ? Tensor() : (*tangents)[origin.result];
  }

  const std::vector<Tensor>* find(const Step& step) const {
    const auto place = found_.find(&step);
    if (place != found_.end()) return &place->second;
    return before_ == nullptr ? nullptr : before_->find(step);
  }

  // The steps on which these depend and that were not visited yet, the earliest first.
  std::vector<StepPtr> steps_to(std::span<const Origin> results) const {
    std::vector<StepPtr> all;
    std::unordered_set<const Step*> seen;
    const auto visit = [&](const Origin& origin) {
      const bool is_new = origin && origin.levels.contains(level_) &&
                          find(*origin.step) == nullptr && seen.insert(origin.step.get()).second;
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
    const LocationScope place(step->location);
    if (step->is_spent) refuse_spent(*step);
    if (step->recording) {
      const std::vector<Origin> results = origins_again(*step, level_);
      return ForwardSweep(level_, this).run(results);
    }
    if (step->forward) {
      const std::vector<Tensor> results = results_of(step);
      return step->forward(tangents.first(step->inputs.size() - step->residuals),
                           {std::span(step->operands).last(step->residuals), results},
                           level_.number());
    }
    if (step->backward) {
      const auto map = [&](std::span<const Tensor> cotangents) {
        return backward_of(step, cotangents);
      };
      return transpose_map(step->result_types, map, tangents);
    }
    if (step->primitive == nullptr) return {tangents[0]};
    const std::vector<Tensor> results = results_of(step);
    return push_forward({*step->primitive, step->attributes, step->operands, results,
                         step->operand_types, step->result_types},
                        tangents);
  }

  const Level& level_;
  const ForwardSweep* const before_;
  std::unordered_map<const Step*, std::vector<Tensor>> found_;
};

}  // namespace

std::vector<Tensor> sweep_forward(const Level& level, std::span<const Origin> results,
                                  std::span<const StepPtr> beginnings,
                                  std::span<const Tensor> tangents) {
  ForwardSweep sweep(level);
  for (size_t i = 0; i < beginnings.size(); ++i) {
    if (beginnings[i]) sweep.begin(*beginnings[i], tangents[i]);
  }
  return sweep.run(results);
}

namespace {

bool is_nonlinear(const Step& step, const Level& level) {
  if (step.primitive == nullptr || step.backward) return false;
  std::vector<bool> wanted;
  for (const Origin& input : step.inputs) {
    wanted.push_back(input && input.levels.contains(level));
  }
  const Reads reads = reads_of(*step.primitive, wanted);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] && reads_operand(reads, i)) return true;
  }
  return reads.results != 0;
}

}  // namespace

void refuse_nonlinear_steps(const Level& level, std::span<const Origin> results) {
  std::unordered_set<const Step*> seen;
  std::vector<const Step*> all;
  const auto visit = [&](const Origin& origin) {
    const bool is_new =
        origin && origin.levels.contains(level) && seen.insert(origin.step.get()).second;
    if (is_new) all.push_back(origin.step.get());
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
