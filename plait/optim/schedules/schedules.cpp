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

Tensor constant(const Tensor& step, const Tensor& value) { return value + zeros_like(step); }

Tensor whole_if(bool is_whole, const Tensor& x) { return is_whole ? floor(x) : x; }

Options options_of(Shape1d shape) { return {{"shape", static_cast<int64_t>(shape)}}; }
Shape1d shape_of(const Schedule& s) { return static_cast<Shape1d>(s.option("shape")); }

// With the boundaries and the scales.
Schedule with(const Schedule& schedule, const BoundariesAndScales& given) {
  std::vector<double> boundaries, scales;
  for (const auto& [boundary, scale] : given) {
    boundaries.push_back(boundary);
    scales.push_back(scale);
  }
  return schedule.with("boundaries", boundaries).with("scales", scales);
}

void expect_scales(std::string_view schedule, const BoundariesAndScales& given) {
  for (const auto& [boundary, scale] : given) {
    expect_from_zero(schedule, "a boundary", boundary);
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

void expect_from_zero(std::string_view schedule, std::string_view name, double value) {
  Number(value).expect_within(fmt::format("{}: {}", schedule, name), 0, kInfinity);
}

void expect_above_zero(std::string_view schedule, std::string_view name, double value) {
  Number(value).expect_within(fmt::format("{}: {}", schedule, name), kAboveZero, kInfinity);
}

Tensor along(Shape1d shape, const Tensor& start, const Tensor& end, const Tensor& part) {
  if (shape == Shape1d::linear) return (end - start) * part + start;
  return end + (start - end) / 2. * (cos(std::numbers::pi * part) + 1.);
}

Schedule join_schedules(const std::vector<Schedule>& schedules,
                        const std::vector<double>& boundaries) {
  if (schedules.empty() || boundaries.size() + 1 != schedules.size()) {
    throw ValueError("optim::join_schedules: {} boundaries of {} schedules, expected one less",
                     boundaries.size(), schedules.size())
        .at(Location::of_caller());
  }
  for (size_t i = 0; i < boundaries.size(); ++i) {
    const double least = i == 0 ? 0 : boundaries[i - 1];
    Number(boundaries[i]).expect_within("optim::join_schedules: a boundary", least, kInfinity);
  }
  const auto rule = [](const Schedule& s, const Tensor& step) {
    const std::vector<Tensor>& begins = s.numbers("boundaries");
    const std::vector<Schedule>& parts = s.parts("schedules");
    Tensor made = parts[0](step);
    for (size_t i = 0; i < begins.size(); ++i) {
      made = where(step < begins[i], made, parts[i + 1](step - begins[i]));
    }
    return made;
  };
  return Schedule(rule, {}).with("boundaries", boundaries).with("schedules", schedules);
}

Schedule constant_schedule(double value) {
  return Schedule([](const Schedule& s, const Tensor& step) { return constant(step, s["value"]); },
                  {{"value", value}});
}

Schedule polynomial_schedule(double init_value, double end_value, double power_of_rest,
                             double transition_steps, double transition_begin) {
  expect_from_zero("optim::polynomial_schedule", "transition_steps", transition_steps);
  expect_from_zero("optim::polynomial_schedule", "power", power_of_rest);
  if (transition_steps == 0) return constant_schedule(init_value);
  const auto rule = [](const Schedule& s, const Tensor& step) {
    const Tensor& steps = s["transition_steps"];
    const Tensor left = 1. - clip(step - s["transition_begin"], 0., steps) / steps;
    return (s["init_value"] - s["end_value"]) * power(left, s["power"]) + s["end_value"];
  };
  return Schedule(rule, {{"init_value", init_value},
                         {"end_value", end_value},
                         {"power", power_of_rest},
                         {"transition_steps", transition_steps},
                         {"transition_begin", std::max(transition_begin, 0.)}});
}

Schedule linear_schedule(double init_value, double end_value, double transition_steps,
                         double transition_begin) {
  return polynomial_schedule(init_value, end_value, 1, transition_steps, transition_begin);
}

Schedule exponential_decay(double init_value, double transition_steps, double decay_rate,
                           const ExponentialDecayOptions& options) {
  expect_above_zero("optim::exponential_decay", "transition_steps", transition_steps);
  expect_from_zero("optim::exponential_decay", "decay_rate", decay_rate);
  if (decay_rate == 0) return constant_schedule(init_value);
  const auto rule = [](const Schedule& s, const Tensor& step) {
    const Tensor done = maximum(step - s["transition_begin"], 0.) / s["transition_steps"];
    const Tensor& rate = s["decay_rate"];
    const Tensor made = s["init_value"] * power(rate, whole_if(s.option("staircase") != 0, done));
    if (!s.has("end_value")) return made;
    return where(rate < 1., maximum(made, s["end_value"]), minimum(made, s["end_value"]));
  };
  std::map<std::string, double> numbers{
      {"init_value", init_value},
      {"transition_steps", transition_steps},
      {"decay_rate", decay_rate},
      {"transition_begin", std::max(options.transition_begin, 0.)}};
  if (options.end_value) numbers["end_value"] = *options.end_value;
  return Schedule(rule, numbers, {{"staircase", options.staircase}});
}

Schedule natural_exp_decay(double init_value, double decay_rate, double transition_steps,
                           bool staircase) {
  expect_above_zero("optim::natural_exp_decay", "transition_steps", transition_steps);
  const auto rule = [](const Schedule& s, const Tensor& step) {
    const Tensor done = whole_if(s.option("staircase") != 0, step / s["transition_steps"]);
    return s["init_value"] * exp(-s["decay_rate"] * done);
  };
  return Schedule(rule,
                  {{"init_value", init_value},
                   {"decay_rate", decay_rate},
                   {"transition_steps", transition_steps}},
                  {{"staircase", staircase}});
}

Schedule cosine_decay_schedule(double init_value, double decay_steps, double alpha,
                               double exponent) {
  expect_above_zero("optim::cosine_decay_schedule", "decay_steps", decay_steps);
  const auto rule = [](const Schedule& s, const Tensor& step) {
    const Tensor progress = minimum(step, s["decay_steps"]) / s["decay_steps"];
    const Tensor wave = 0.5 * (1. + cos(std::numbers::pi * progress));
    return s["init_value"] * ((1. - s["alpha"]) * power(wave, s["exponent"]) + s["alpha"]);
  };
  return Schedule(rule, {{"init_value", init_value},
                         {"decay_steps", decay_steps},
                         {"alpha", alpha},
                         {"exponent", exponent}});
}

Schedule inverse_sqrt_schedule(double peak_value, double warmup_steps, double init_value) {
  expect_above_zero("optim::inverse_sqrt_schedule", "warmup_steps", warmup_steps);
  const auto rule = [](const Schedule& s, const Tensor& step) {
    const Tensor &peak = s["peak_value"], &steps = s["warmup_steps"], &first = s["init_value"];
    const Tensor falling = peak * sqrt(steps / maximum(step, steps));
    const Tensor rising = first + (peak - first) * step / steps;
    return where(step < steps, rising, falling);
  };
  return Schedule(
      rule,
      {{"peak_value", peak_value}, {"warmup_steps", warmup_steps}, {"init_value", init_value}});
}

Schedule piecewise_constant_schedule(double init_value,
                                     const BoundariesAndScales& boundaries_and_scales) {
  expect_scales("optim::piecewise_constant_schedule", boundaries_and_scales);
  const auto rule = [](const Schedule& s, const Tensor& step) {
    const std::vector<Tensor>&boundaries = s.numbers("boundaries"), &scales = s.numbers("scales");
    Tensor value = constant(step, s["init_value"]);
    for (size_t i = 0; i < scales.size(); ++i) {
      value = where(step < boundaries[i], value, value * scales[i]);
    }
    return value;
  };
  return with(Schedule(rule, {{"init_value", init_value}}), boundaries_and_scales);
}

Schedule piecewise_interpolate_schedule(Shape1d interpolate_type, double init_value,
                                        const BoundariesAndScales& boundaries_and_scales) {
  expect_scales("optim::piecewise_interpolate_schedule", boundaries_and_scales);
  const auto rule = [](const Schedule& s, const Tensor& step) {
    const std::vector<Tensor>&boundaries = s.numbers("boundaries"), &scales = s.numbers("scales");
    Tensor value = s["init_value"], begin = zeros_like(value), made = constant(step, value);
    for (size_t i = 0; i < scales.size(); ++i) {
      const Tensor target = value * scales[i];
      const Tensor part = (step - begin) / maximum(boundaries[i] - begin, 1.);
      made = where(step < begin, made, along(shape_of(s), value, target, part));
      value = target;
      begin = boundaries[i];
    }
    return where(step < begin, made, constant(step, value));
  };
  return with(Schedule(rule, {{"init_value", init_value}}, options_of(interpolate_type)),
              boundaries_and_scales);
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
  const std::string_view name = "optim::warmup_stable_decay_schedule";
  expect_from_zero(name, "warmup_steps", warmup_steps);
  expect_from_zero(name, "stable_steps", stable_steps);
  expect_above_zero(name, "decay_steps", decay_steps);
  const auto rule = [](const Schedule& s, const Tensor& step) {
    const Tensor &peak = s["peak_value"], &warmup = s["warmup_steps"], &first = s["init_value"];
    const Tensor part = clip((step - warmup - s["stable_steps"]) / s["decay_steps"], 0., 1.);
    const Tensor rising = first + (peak - first) * step / maximum(warmup, 1.);
    return where(step < warmup, rising, along(shape_of(s), peak, s["end_value"], part));
  };
  return Schedule(rule,
                  {{"peak_value", peak_value},
                   {"warmup_steps", warmup_steps},
                   {"stable_steps", stable_steps},
                   {"decay_steps", decay_steps},
                   {"init_value", options.init_value},
                   {"end_value", options.end_value}},
                  options_of(options.shape));
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
