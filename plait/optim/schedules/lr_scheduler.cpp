#include "plait/optim/schedules/lr_scheduler.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/optim/inside/schedule_parts.h"
#include "plait/optim/inside/step_numbers.h"
#include "plait/transform/control/control.h"

namespace plait::optim::lr_scheduler {
namespace {

// The part of the steps that are done, at most 1.
Tensor part_of(const Tensor& step, const Tensor& total) {
  return where(step < total, step / maximum(total, 1.), ones_like(step));
}

Tensor as_i64(const Tensor& x) { return astype(x, DType::i64); }

Options options_of(Shape1d shape) { return {{"anneal_strategy", static_cast<int64_t>(shape)}}; }
Shape1d shape_of(const Schedule& s) { return static_cast<Shape1d>(s.option("anneal_strategy")); }

// ---- Formulas

Tensor step_rule(const Schedule& s, const Tensor& step) {
  return s["lr"] * power(s["gamma"], floor(step / s["step_size"]));
}

Tensor multi_step_rule(const Schedule& s, const Tensor& step) {
  Tensor passed = zeros_like(step);
  for (const Tensor& each : s.numbers("milestones")) passed = passed + as_f64(step >= each);
  return s["lr"] * power(s["gamma"], passed);
}

Tensor constant_rule(const Schedule& s, const Tensor& step) {
  return where(step < s["total_iters"], s["lr"] * s["factor"], s["lr"]);
}

Tensor linear_rule(const Schedule& s, const Tensor& step) {
  const Tensor part = part_of(step, s["total_iters"]);
  return s["lr"] * along(Shape1d::linear, s["start_factor"], s["end_factor"], part);
}

Tensor exponential_rule(const Schedule& s, const Tensor& step) {
  return s["lr"] * power(s["gamma"], step);
}

Tensor polynomial_rule(const Schedule& s, const Tensor& step) {
  return s["lr"] * power(1. - part_of(step, s["total_iters"]), s["power"]);
}

Tensor cosine_rule(const Schedule& s, const Tensor& step) {
  return along(Shape1d::cosine, s["lr"], s["eta_min"], step / s["T_max"]);
}

Tensor restarts_rule(const Schedule& s, const Tensor& step) {
  const Tensor& first = s["T_0"];
  const auto factor = static_cast<double>(s.option("T_mult"));
  if (factor == 1) {
    return along(Shape1d::cosine, s["lr"], s["eta_min"], step / first - floor(step / first));
  }
  const double more = factor - 1;
  // The small number makes it exact at whole steps.
  const Tensor cycle = floor(log(step / first * more + 1.) / std::log(factor) + 1e-9);
  const Tensor length = first * power(factor, cycle);
  const Tensor done = maximum(step - (length - first) / more, 0.);
  return along(Shape1d::cosine, s["lr"], s["eta_min"], done / length);
}

// The height within the cycle: 0, 1 at its top, and 0 again.
Tensor cyclic_height(const Schedule& s, const Tensor& step) {
  const Tensor& up = s["step_size_up"];
  const Tensor total = up + s["step_size_down"], rising = up / total;
  const Tensor done = floor(step / total), part = step / total - done;
  const Tensor height = where(part <= rising, part / rising, (part - 1.) / (rising - 1.));
  if (s.has("scale_fn")) {
    return height * s.part("scale_fn")(s.option("scales_by_iterations") != 0 ? step : done + 1.);
  }
  const auto mode = static_cast<CyclicMode>(s.option("mode"));
  if (mode == CyclicMode::triangular2) return height * power(0.5, done);
  if (mode == CyclicMode::exp_range) return height * power(s["gamma"], step);
  return height;
}
Tensor cyclic_rule(const Schedule& s, const Tensor& step) {
  return s["base_lr"] + (s["max_lr"] - s["base_lr"]) * cyclic_height(s, step);
}
Tensor cyclic_momentum_rule(const Schedule& s, const Tensor& step) {
  const Tensor& most = s["max_momentum"];
  return most - (most - s["base_momentum"]) * cyclic_height(s, step);
}

// From `first` to `top`, and to `last`.
Tensor one_cycle(const Schedule& s, const Tensor& step, const Tensor& first, const Tensor& top,
                 const Tensor& last) {
  const Tensor &total = s["total_steps"], peak = s["pct_start"] * total;
  std::vector<std::pair<Tensor, Tensor>> ends{{peak - 1., top}};
  if (s.option("three_phase") != 0) ends.emplace_back(2. * peak - 2., first);
  ends.emplace_back(total - 1., last);
  Tensor made, begin = zeros_like(total), value = first;
  for (const auto& [end, target] : ends) {
    const Tensor phase = along(shape_of(s), value, target, (step - begin) / (end - begin));
    made = made ? where(step <= begin, made, phase) : phase;
    std::tie(begin, value) = std::pair(end, target);
  }
  return made;
}
Tensor one_cycle_rule(const Schedule& s, const Tensor& step) {
  const Tensor first = s["max_lr"] / s["div_factor"];
  return one_cycle(s, step, first, s["max_lr"], first / s["final_div_factor"]);
}
Tensor one_cycle_momentum_rule(const Schedule& s, const Tensor& step) {
  return one_cycle(s, step, s["max_momentum"], s["base_momentum"], s["max_momentum"]);
}

Tensor swa_rule(const Schedule& s, const Tensor& step) {
  return along(shape_of(s), s["lr"], s["swa_lr"], minimum(step / s["anneal_epochs"], 1.));
}

Tensor lambda_rule(const Schedule& s, const Tensor& step) {
  return s["lr"] * s.part("lr_lambda")(step);
}

Tensor multiplicative_rule(const Schedule& s, const Tensor& step) {
  using Carry = std::pair<Tensor, Tensor>;
  const auto goes_on = [&](const Carry& carry) { return less(carry.first, step); };
  const auto body = [&](const Carry& carry) {
    const Tensor done = carry.first + 1.;
    return Carry(done, carry.second * s.part("lr_lambda")(done));
  };
  return while_loop(goes_on, body, Carry(f64_of(0), s["lr"])).second;
}

Tensor chained_rule(const Schedule& s, const Tensor& step) {
  const std::vector<Schedule>& schedulers = s.parts("schedulers");
  Tensor made = schedulers[0](step);
  for (size_t i = 1; i < schedulers.size(); ++i) made = made * schedulers[i](step);
  return made;
}

// ---- Cycles, of rates and momentums

using Values = std::map<std::string, double>;

Values momentum_numbers(std::string_view name, bool cycles, double base, double most) {
  if (!cycles) {
    throw ValueError("{}: there is no momentum with cycle_momentum = false", name)
        .at(Location::of_caller())
        .hint("leave cycle_momentum out");
  }
  expect_numbers(name, {decay_number("base_momentum", base), decay_number("max_momentum", most)});
  return {{"base_momentum", base}, {"max_momentum", most}};
}

Schedule cycle_of(const CyclicLR& c, ScheduleFormula::Rule rule, Values numbers) {
  expect_above_zero("lr_scheduler::CyclicLR", "step_size_up", c.step_size_up);
  numbers["step_size_up"] = c.step_size_up;
  numbers["step_size_down"] = c.step_size_down.value_or(c.step_size_up);
  expect_above_zero("lr_scheduler::CyclicLR", "step_size_down", numbers["step_size_down"]);
  expect_from_zero("lr_scheduler::CyclicLR", "gamma", c.gamma);
  numbers["gamma"] = c.gamma;
  const Schedule made(
      rule, numbers,
      {{"mode", static_cast<int64_t>(c.mode)}, {"scales_by_iterations", c.scales_by_iterations}});
  return c.scale_fn ? made.with("scale_fn", *c.scale_fn) : made;
}

Schedule cycle_of(const OneCycleLR& c, ScheduleFormula::Rule rule, Values numbers) {
  expect_above_zero("lr_scheduler::OneCycleLR", "total_steps", c.total_steps);
  Number(c.pct_start).expect_within("lr_scheduler::OneCycleLR: pct_start", 0, kAboveOne);
  numbers["total_steps"] = c.total_steps;
  numbers["pct_start"] = c.pct_start;
  Options options = options_of(c.anneal_strategy);
  options["three_phase"] = c.three_phase;
  return Schedule(rule, numbers, std::move(options));
}

}  // namespace

// ---- Their numbers

Schedule StepLR::schedule() const {
  expect_above_zero("lr_scheduler::StepLR", "step_size", step_size);
  expect_from_zero("lr_scheduler::StepLR", "gamma", gamma);
  return Schedule(step_rule, {{"lr", lr}, {"step_size", step_size}, {"gamma", gamma}});
}

Schedule MultiStepLR::schedule() const {
  for (const double each : milestones) {
    expect_from_zero("lr_scheduler::MultiStepLR", "a milestone", each);
  }
  expect_from_zero("lr_scheduler::MultiStepLR", "gamma", gamma);
  return Schedule(multi_step_rule, {{"lr", lr}, {"gamma", gamma}}).with("milestones", milestones);
}

Schedule ConstantLR::schedule() const {
  expect_numbers("lr_scheduler::ConstantLR",
                 {{"factor", factor, 0, kAboveOne}, positive("total_iters", total_iters)});
  return Schedule(constant_rule, {{"lr", lr}, {"factor", factor}, {"total_iters", total_iters}});
}

Schedule LinearLR::schedule() const {
  expect_numbers("lr_scheduler::LinearLR", {{"start_factor", start_factor, kAboveZero, kAboveOne},
                                            {"end_factor", end_factor, 0, kAboveOne},
                                            positive("total_iters", total_iters)});
  return Schedule(linear_rule, {{"lr", lr},
                                {"start_factor", start_factor},
                                {"end_factor", end_factor},
                                {"total_iters", total_iters}});
}

Schedule ExponentialLR::schedule() const {
  expect_from_zero("lr_scheduler::ExponentialLR", "gamma", gamma);
  return Schedule(exponential_rule, {{"lr", lr}, {"gamma", gamma}});
}

Schedule PolynomialLR::schedule() const {
  expect_numbers("lr_scheduler::PolynomialLR",
                 {positive("total_iters", total_iters), positive("power", power)});
  return Schedule(polynomial_rule, {{"lr", lr}, {"total_iters", total_iters}, {"power", power}});
}

Schedule CosineAnnealingLR::schedule() const {
  expect_above_zero("lr_scheduler::CosineAnnealingLR", "t_max", t_max);
  return Schedule(cosine_rule, {{"lr", lr}, {"T_max", t_max}, {"eta_min", eta_min}});
}

Schedule CosineAnnealingWarmRestarts::schedule() const {
  expect_above_zero("lr_scheduler::CosineAnnealingWarmRestarts", "t_0", t_0);
  expect_above_zero("lr_scheduler::CosineAnnealingWarmRestarts", "t_mult", t_mult);
  return Schedule(restarts_rule, {{"lr", lr}, {"T_0", t_0}, {"eta_min", eta_min}},
                  {{"T_mult", t_mult}});
}

Schedule CyclicLR::schedule() const {
  return cycle_of(*this, cyclic_rule, {{"base_lr", base_lr}, {"max_lr", max_lr}});
}
Schedule CyclicLR::momentum() const {
  const std::string_view name = "lr_scheduler::CyclicLR";
  return cycle_of(*this, cyclic_momentum_rule,
                  momentum_numbers(name, cycle_momentum, base_momentum, max_momentum));
}

Schedule OneCycleLR::schedule() const {
  return cycle_of(
      *this, one_cycle_rule,
      {{"max_lr", max_lr}, {"div_factor", div_factor}, {"final_div_factor", final_div_factor}});
}
Schedule OneCycleLR::momentum() const {
  const std::string_view name = "lr_scheduler::OneCycleLR";
  return cycle_of(*this, one_cycle_momentum_rule,
                  momentum_numbers(name, cycle_momentum, base_momentum, max_momentum));
}

Schedule SWALR::schedule() const {
  expect_above_zero("lr_scheduler::SWALR", "anneal_epochs", anneal_epochs);
  return Schedule(swa_rule, {{"lr", lr}, {"swa_lr", swa_lr}, {"anneal_epochs", anneal_epochs}},
                  options_of(anneal_strategy));
}

Schedule LambdaLR::schedule() const {
  return Schedule(lambda_rule, {{"lr", lr}}).with("lr_lambda", lr_lambda);
}

Schedule MultiplicativeLR::schedule() const {
  return Schedule(multiplicative_rule, {{"lr", lr}}).with("lr_lambda", lr_lambda);
}

Schedule ChainedScheduler::schedule() const {
  if (schedulers.empty()) {
    throw ValueError("lr_scheduler::ChainedScheduler: there are no schedulers")
        .at(Location::of_caller());
  }
  return Schedule(chained_rule, {}).with("schedulers", schedulers);
}

Schedule SequentialLR::schedule() const { return join_schedules(schedulers, milestones); }

ReduceLROnPlateau ReduceLROnPlateau::init(double lr, const PlateauOptions& options) {
  const std::string name = "lr_scheduler::ReduceLROnPlateau";
  Number(lr).expect_within(name + ": lr", 0, kInfinity);
  Number(options.factor).expect_within(name + ": factor", 0, 1);
  expect_numbers(name,
                 {positive("patience", options.patience), positive("threshold", options.threshold),
                  positive("cooldown", options.cooldown), positive("min_lr", options.min_lr),
                  positive("eps", options.eps)});
  return {.lr = f64_of(lr),
          .factor = f64_of(options.factor),
          .patience = f64_of(options.patience),
          .threshold = f64_of(options.threshold),
          .cooldown = f64_of(options.cooldown),
          .min_lr = f64_of(options.min_lr),
          .eps = f64_of(options.eps),
          .best = f64_of(options.mode == PlateauMode::min ? kInfinity : -kInfinity),
          .num_bad_epochs = no_steps(),
          .cooldown_counter = f64_of(0),
          .mode = options.mode,
          .threshold_mode = options.threshold_mode};
}

ReduceLROnPlateau ReduceLROnPlateau::step(const Operand& metric) const {
  const Tensor current = as_f64(tensor_from(metric));
  const bool is_min = mode == PlateauMode::min;
  const Tensor margin = is_min ? -threshold : threshold;
  const Tensor limit = threshold_mode == ThresholdMode::rel ? best * (1. + margin) : best + margin;
  const Tensor is_better = is_min ? current < limit : current > limit;
  const Tensor is_cooling = cooldown_counter > 0.;
  const Tensor bad =
      where(logical_or(is_better, is_cooling), zeros_like(num_bad_epochs), num_bad_epochs + 1);
  const Tensor is_over = as_f64(bad) > patience;
  const Tensor reduced = maximum(lr * factor, min_lr);
  ReduceLROnPlateau next = *this;
  next.best = where(is_better, current, best);
  next.lr = where(logical_and(is_over, (lr - reduced) > eps), reduced, lr);
  next.num_bad_epochs = as_i64(where(is_over, zeros_like(bad), bad));
  next.cooldown_counter = where(is_over, cooldown, cooldown_counter - as_f64(is_cooling));
  return next;
}

}  // namespace plait::optim::lr_scheduler
