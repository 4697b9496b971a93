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
Tensor part_of(const Tensor& step, double total) {
  return where(step < total, step / std::max(total, 1.), ones_like(step));
}

Tensor number_like(const Tensor& step, double value) { return value + zeros_like(step); }

Tensor as_i64(const Tensor& x) { return astype(x, DType::i64); }

}  // namespace

Tensor StepLR::operator()(const Tensor& step) const {
  expect_above_zero("lr_scheduler::StepLR", "step_size", step_size);
  return lr * plait::power(gamma, floor(step / step_size));
}

Tensor MultiStepLR::operator()(const Tensor& step) const {
  Tensor passed = zeros_like(step);
  for (const double each : milestones) passed = passed + as_f64(step >= each);
  return lr * plait::power(gamma, passed);
}

Tensor ConstantLR::operator()(const Tensor& step) const {
  return where(step < total_iters, number_like(step, lr * factor), number_like(step, lr));
}

Tensor LinearLR::operator()(const Tensor& step) const {
  return lr * along(Shape1d::linear, start_factor, end_factor, part_of(step, total_iters));
}

Tensor ExponentialLR::operator()(const Tensor& step) const {
  return lr * plait::power(gamma, step);
}

Tensor PolynomialLR::operator()(const Tensor& step) const {
  return lr * plait::power(1. - part_of(step, total_iters), power);
}

Tensor CosineAnnealingLR::operator()(const Tensor& step) const {
  expect_above_zero("lr_scheduler::CosineAnnealingLR", "t_max", t_max);
  return along(Shape1d::cosine, lr, eta_min, step / t_max);
}

Tensor CosineAnnealingWarmRestarts::operator()(const Tensor& step) const {
  expect_above_zero("lr_scheduler::CosineAnnealingWarmRestarts", "t_0", t_0);
  expect_above_zero("lr_scheduler::CosineAnnealingWarmRestarts", "t_mult", t_mult);
  if (t_mult == 1) {
    return along(Shape1d::cosine, lr, eta_min, step / t_0 - floor(step / t_0));
  }
  const double more = t_mult - 1;
  // The small number makes it exact at whole steps.
  const Tensor cycle = floor(log(step / t_0 * more + 1.) / std::log(t_mult) + 1e-9);
  const Tensor length = t_0 * plait::power(static_cast<double>(t_mult), cycle);
  const Tensor done = maximum(step - (length - t_0) / more, 0.);
  return along(Shape1d::cosine, lr, eta_min, done / length);
}

Tensor CyclicLR::operator()(const Tensor& step) const {
  expect_above_zero("lr_scheduler::CyclicLR", "step_size_up", step_size_up);
  const double total = step_size_up + step_size_down.value_or(step_size_up);
  const Tensor done = floor(step / total), part = step / total - done;
  const double rising = step_size_up / total;
  const Tensor height = where(part <= rising, part / rising, (part - 1.) / (rising - 1));
  Tensor made = (max_lr - base_lr) * height;
  if (scale_fn) return base_lr + made * (*scale_fn)(scales_by_iterations ? step : done + 1.);
  if (mode == CyclicMode::triangular2) made = made * plait::power(0.5, done);
  if (mode == CyclicMode::exp_range) made = made * plait::power(gamma, step);
  return base_lr + made;
}

Tensor OneCycleLR::operator()(const Tensor& step) const {
  expect_above_zero("lr_scheduler::OneCycleLR", "total_steps", total_steps);
  Number(pct_start).expect_within("lr_scheduler::OneCycleLR: pct_start", 0, kAboveOne);
  const double first = max_lr / div_factor;
  std::vector<std::pair<double, double>> ends{{pct_start * total_steps - 1, max_lr}};
  if (three_phase) ends.emplace_back(2 * pct_start * total_steps - 2, first);
  ends.emplace_back(total_steps - 1, first / final_div_factor);
  Tensor made;
  double begin = 0, value = first;
  for (const auto& [end, target] : ends) {
    const Tensor phase = along(anneal_strategy, value, target, (step - begin) / (end - begin));
    made = made ? where(step <= begin, made, phase) : phase;
    std::tie(begin, value) = std::pair(end, target);
  }
  return made;
}

Tensor SWALR::operator()(const Tensor& step) const {
  expect_above_zero("lr_scheduler::SWALR", "anneal_epochs", anneal_epochs);
  return along(anneal_strategy, lr, swa_lr, minimum(step / anneal_epochs, 1.));
}

Tensor LambdaLR::operator()(const Tensor& step) const { return lr * lr_lambda(step); }

Tensor MultiplicativeLR::operator()(const Tensor& step) const {
  using Carry = std::pair<Tensor, Tensor>;
  const auto goes_on = [&](const Carry& carry) { return less(carry.first, step); };
  const auto body = [&](const Carry& carry) {
    const Tensor done = carry.first + 1.;
    return Carry(done, carry.second * lr_lambda(done));
  };
  return while_loop(goes_on, body, Carry(f64_of(0), f64_of(lr))).second;
}

Tensor ChainedScheduler::operator()(const Tensor& step) const {
  if (schedulers.empty()) {
    throw ValueError("lr_scheduler::ChainedScheduler: there are no schedulers")
        .at(Location::of_caller());
  }
  Tensor made = schedulers[0](step);
  for (size_t i = 1; i < schedulers.size(); ++i) made = made * schedulers[i](step);
  return made;
}

Tensor SequentialLR::operator()(const Tensor& step) const {
  return join_schedules(schedulers, milestones)(step);
}

ReduceLROnPlateau ReduceLROnPlateau::init(double lr, const PlateauOptions& options) {
  const std::string name = "lr_scheduler::ReduceLROnPlateau";
  Number(lr).expect_within(name + ": lr", 0, kInfinity);
  Number(options.factor).expect_within(name + ": factor", 0, 1);
  expect_numbers(name,
                 {positive("patience", options.patience), positive("threshold", options.threshold),
                  positive("cooldown", options.cooldown), positive("min_lr", options.min_lr),
                  positive("eps", options.eps)});
  return {.lr = f64_of(lr),
          .best = f64_of(options.mode == PlateauMode::min ? kInfinity : -kInfinity),
          .num_bad_epochs = no_steps(),
          .cooldown_counter = f64_of(0),
          .options = options};
}

ReduceLROnPlateau ReduceLROnPlateau::step(const Operand& metric) const {
  const Tensor current = as_f64(tensor_from(metric));
  const bool is_min = options.mode == PlateauMode::min;
  const double threshold = is_min ? -options.threshold : options.threshold;
  const Tensor limit =
      options.threshold_mode == ThresholdMode::rel ? best * (1 + threshold) : best + threshold;
  const Tensor is_better = is_min ? current < limit : current > limit;
  const Tensor is_cooling = cooldown_counter > 0.;
  const Tensor bad =
      where(logical_or(is_better, is_cooling), zeros_like(num_bad_epochs), num_bad_epochs + 1);
  const Tensor is_over = as_f64(bad) > options.patience;
  const Tensor reduced = maximum(lr * options.factor, options.min_lr);
  ReduceLROnPlateau next = *this;
  next.best = where(is_better, current, best);
  next.lr = where(logical_and(is_over, (lr - reduced) > options.eps), reduced, lr);
  next.num_bad_epochs = as_i64(where(is_over, zeros_like(bad), bad));
  next.cooldown_counter =
      where(is_over, f64_of(options.cooldown), cooldown_counter - as_f64(is_cooling));
  return next;
}

}  // namespace plait::optim::lr_scheduler
