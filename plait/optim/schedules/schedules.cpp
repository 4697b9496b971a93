#include "plait/optim/schedules/schedules.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/optim/inside/schedule_parts.h"

namespace plait::optim {
namespace {

Tensor constant(const Tensor& step, double value) { return value + zeros_like(step); }

Tensor whole_if(bool is_whole, const Tensor& x) { return is_whole ? floor(x) : x; }

void expect_scales(std::string_view schedule, const BoundariesAndScales& given) {
  for (const auto& [boundary, scale] : given) {
    if (scale >= 0) continue;
    throw ValueError("{}: the factor from step {} on is {}, expected 0 or more", schedule, boundary,
                     scale)
        .at(Location::of_caller());
  }
}

// The number of steps after the warmup.
double steps_after(std::string_view schedule, double warmup_steps, double decay_steps) {
  if (warmup_steps < decay_steps) return decay_steps - warmup_steps;
  throw ValueError(
      "{}: decay_steps is {}, expected more than warmup_steps, {}: it counts all steps", schedule,
      decay_steps, warmup_steps)
      .at(Location::of_caller());
}

void expect_onecycle(std::string_view schedule, double steps, const OneCycleOptions& options) {
  expect_above_zero(schedule, "transition_steps", steps);
  expect_above_zero(schedule, "pct_start", options.pct_start);
  expect_above_zero(schedule, "pct_final", options.pct_final);
  expect_above_zero(schedule, "div_factor", options.div_factor);
  expect_above_zero(schedule, "final_div_factor", options.final_div_factor);
}

}  // namespace

void expect_above_zero(std::string_view schedule, std::string_view name, double value) {
  Number(value).expect_within(fmt::format("{}: {}", schedule, name), kAboveZero, kInfinity);
}

Tensor along(Shape1d shape, double start, double end, const Tensor& part) {
  if (shape == Shape1d::linear) return (end - start) * part + start;
  return end + (start - end) / 2 * (cos(std::numbers::pi * part) + 1.);
}

Schedule join_schedules(const std::vector<Schedule>& schedules,
                        const std::vector<double>& boundaries) {
  if (schedules.empty() || boundaries.size() + 1 != schedules.size()) {
    throw ValueError("optim::join_schedules: {} boundaries of {} schedules, expected one less",
                     boundaries.size(), schedules.size())
        .at(Location::of_caller());
  }
  return [=](const Tensor& step) {
    Tensor made = schedules[0](step);
    for (size_t i = 0; i < boundaries.size(); ++i) {
      made = where(step < boundaries[i], made, schedules[i + 1](step - boundaries[i]));
    }
    return made;
  };
}

Schedule constant_schedule(double value) {
  return [=](const Tensor& step) { return constant(step, value); };
}

Schedule polynomial_schedule(double init_value, double end_value, double power_of_rest,
                             double transition_steps, double transition_begin) {
  if (transition_steps <= 0) return constant_schedule(init_value);
  const double begin = std::max(transition_begin, 0.);
  return [=](const Tensor& step) {
    const Tensor left = 1. - clip(step - begin, 0., transition_steps) / transition_steps;
    return (init_value - end_value) * power(left, power_of_rest) + end_value;
  };
}

Schedule linear_schedule(double init_value, double end_value, double transition_steps,
                         double transition_begin) {
  return polynomial_schedule(init_value, end_value, 1, transition_steps, transition_begin);
}

Schedule exponential_decay(double init_value, double transition_steps, double decay_rate,
                           const ExponentialDecayOptions& options) {
  if (transition_steps <= 0 || decay_rate == 0) return constant_schedule(init_value);
  const double begin = std::max(options.transition_begin, 0.);
  return [=](const Tensor& step) {
    const Tensor exponent =
        whole_if(options.staircase, maximum(step - begin, 0.) / transition_steps);
    const Tensor made = init_value * power(decay_rate, exponent);
    if (!options.end_value) return made;
    return decay_rate < 1 ? maximum(made, *options.end_value) : minimum(made, *options.end_value);
  };
}

Schedule natural_exp_decay(double init_value, double decay_rate, double transition_steps,
                           bool staircase) {
  expect_above_zero("optim::natural_exp_decay", "transition_steps", transition_steps);
  return [=](const Tensor& step) {
    return init_value * exp(-decay_rate * whole_if(staircase, step / transition_steps));
  };
}

Schedule cosine_decay_schedule(double init_value, double decay_steps, double alpha,
                               double exponent) {
  expect_above_zero("optim::cosine_decay_schedule", "decay_steps", decay_steps);
  return [=](const Tensor& step) {
    const Tensor way = minimum(step, decay_steps) / decay_steps;
    const Tensor wave = 0.5 * (1. + cos(std::numbers::pi * way));
    return init_value * ((1 - alpha) * power(wave, exponent) + alpha);
  };
}

Schedule inverse_sqrt_schedule(double peak_value, double warmup_steps, double init_value) {
  expect_above_zero("optim::inverse_sqrt_schedule", "warmup_steps", warmup_steps);
  return [=](const Tensor& step) {
    const Tensor falling = peak_value * sqrt(warmup_steps / maximum(step, warmup_steps));
    const Tensor rising = init_value + (peak_value - init_value) * step / warmup_steps;
    return where(step < warmup_steps, rising, falling);
  };
}

Schedule piecewise_constant_schedule(double init_value,
                                     const BoundariesAndScales& boundaries_and_scales) {
  expect_scales("optim::piecewise_constant_schedule", boundaries_and_scales);
  return [=](const Tensor& step) {
    Tensor value = constant(step, init_value);
    for (const auto& [boundary, scale] : boundaries_and_scales) {
      value = where(step < boundary, value, value * scale);
    }
    return value;
  };
}

Schedule piecewise_interpolate_schedule(Shape1d interpolate_type, double init_value,
                                        const BoundariesAndScales& boundaries_and_scales) {
  expect_scales("optim::piecewise_interpolate_schedule", boundaries_and_scales);
  return [=](const Tensor& step) {
    Tensor made = constant(step, init_value);
    double value = init_value, begin = 0;
    for (const auto& [boundary, scale] : boundaries_and_scales) {
      const Tensor part = (step - begin) / std::max(boundary - begin, 1.);
      made = where(step < begin, made, along(interpolate_type, value, value * scale, part));
      value *= scale;
      begin = boundary;
    }
    return where(step < begin, made, constant(step, value));
  };
}

Schedule linear_onecycle_schedule(double transition_steps, double peak_value,
                                  const OneCycleOptions& options) {
  expect_onecycle("optim::linear_onecycle_schedule", transition_steps, options);
  return piecewise_interpolate_schedule(
      Shape1d::linear, peak_value / options.div_factor,
      {{std::floor(options.pct_start * transition_steps), options.div_factor},
       {std::floor(options.pct_final * transition_steps), 1 / options.div_factor},
       {transition_steps, 1 / options.final_div_factor}});
}

Schedule cosine_onecycle_schedule(double transition_steps, double peak_value,
                                  const OneCycleOptions& options) {
  expect_onecycle("optim::cosine_onecycle_schedule", transition_steps, options);
  return piecewise_interpolate_schedule(
      Shape1d::cosine, peak_value / options.div_factor,
      {{std::floor(options.pct_start * transition_steps), options.div_factor},
       {std::floor(transition_steps), 1 / (options.div_factor * options.final_div_factor)}});
}

Schedule warmup_constant_schedule(double init_value, double peak_value, double warmup_steps) {
  return linear_schedule(init_value, peak_value, warmup_steps);
}

Schedule warmup_cosine_decay_schedule(double init_value, double peak_value, double warmup_steps,
                                      double decay_steps, double end_value, double exponent) {
  const double left = steps_after("optim::warmup_cosine_decay_schedule", warmup_steps, decay_steps);
  const double alpha = peak_value == 0 ? 0 : end_value / peak_value;
  return join_schedules({linear_schedule(init_value, peak_value, warmup_steps),
                         cosine_decay_schedule(peak_value, left, alpha, exponent)},
                        {warmup_steps});
}

Schedule warmup_linear_decay_schedule(double init_value, double peak_value, double warmup_steps,
                                      double decay_steps, double end_value) {
  const double left = steps_after("optim::warmup_linear_decay_schedule", warmup_steps, decay_steps);
  return join_schedules({linear_schedule(init_value, peak_value, warmup_steps),
                         linear_schedule(peak_value, end_value, left)},
                        {warmup_steps});
}

Schedule warmup_exponential_decay_schedule(double init_value, double peak_value,
                                           double warmup_steps, double transition_steps,
                                           double decay_rate,
                                           const ExponentialDecayOptions& options) {
  return join_schedules({linear_schedule(init_value, peak_value, warmup_steps),
                         exponential_decay(peak_value, transition_steps, decay_rate, options)},
                        {warmup_steps});
}

Schedule warmup_stable_decay_schedule(double peak_value, double warmup_steps, double stable_steps,
                                      double decay_steps, const WarmupStableDecayOptions& options) {
  expect_above_zero("optim::warmup_stable_decay_schedule", "decay_steps", decay_steps);
  return [=](const Tensor& step) {
    const Tensor part = clip((step - warmup_steps - stable_steps) / decay_steps, 0., 1.);
    const Tensor rising =
        options.init_value + (peak_value - options.init_value) * step / std::max(warmup_steps, 1.);
    return where(step < warmup_steps, rising,
                 along(options.shape, peak_value, options.end_value, part));
  };
}

Schedule sgdr_schedule(const std::vector<SgdrCycle>& cycles) {
  std::vector<Schedule> schedules;
  std::vector<double> boundaries;
  double begin = 0;
  for (const SgdrCycle& each : cycles) {
    if (!schedules.empty()) boundaries.push_back(begin);
    schedules.push_back(warmup_cosine_decay_schedule(each.init_value, each.peak_value,
                                                     each.warmup_steps, each.decay_steps,
                                                     each.end_value, each.exponent));
    begin += each.decay_steps;
  }
  return join_schedules(schedules, boundaries);
}

}  // namespace plait::optim
