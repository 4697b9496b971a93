#include "plait/optim/transformations/wrappers.h"

#include <algorithm>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/inside/transformation_rule.h"
#include "plait/optim/transformations/descents.h"
#include "plait/optim/transformations/scaling.h"
#include "plait/optim/transformations/squares.h"

namespace plait::optim {
namespace {

// In the real dtype of another tensor.
Tensor number_in(const Tensor& number, const Tensor& like) {
  return astype(number, plait::real_dtype(like.dtype()));
}

DType lowest_dtype(const Tensors& tensors) {
  DType found = DType::f64;
  for (const auto& [path, value] : tensors) {
    const DType own = plait::real_dtype(value.dtype());
    if (size_of(own) < size_of(found)) found = own;
  }
  return found;
}

struct LookaheadRule final : TransformationRule {
  LookaheadRule(Transformation fast, int64_t period, Number slow_step_size, bool resets)
      : TransformationRule("optim::lookahead",
                           {{"slow_step_size", std::move(slow_step_size), 0, kAboveOne}}),
        inner(std::move(fast)),
        sync_period(whole(name + ": sync_period", period)),
        reset_state(resets) {}
  State init(const Tensors& parameters) const override {
    State made;
    begin(made);
    made.values["steps_since_sync"] = no_steps();
    made.kept["slow"] = copies_of(parameters);
    made.parts.emplace("inner", inner.init(parameters));
    return made;
  }
  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions& options) const override {
    expect_parameters(parameters);
    const Tensor rate = numbers_at(state).at("slow_step_size");
    State& own = state.parts.at("inner");
    const Tensors steps = update_of(inner, updates, own, parameters, options);
    Tensor& since = state.values.at("steps_since_sync");
    const Tensor syncs = since == sync_period - 1;
    Tensors& slow = state.kept.at("slow");
    const Tensors goal = map_tensors(name, slow, parameters, steps,
                                     [&](const Tensor& at, const Tensor& fast, const Tensor& step) {
                                       return at + number_in(rate, fast) * (fast + step - at);
                                     });
    const Tensors made = map_tensors(name, goal, parameters, steps,
                                     [&](const Tensor& to, const Tensor& fast, const Tensor& step) {
                                       return where(syncs, to - fast, step);
                                     });
    if (reset_state) own = choose(syncs, inner.init(parameters), own);
    slow = choose(syncs, goal, slow);
    since = remainder(since + 1, sync_period);
    state.values["count"] = state.values["count"] + 1;
    return made;
  }
  Transformation inner;
  int64_t sync_period;
  bool reset_state;
};

struct ScheduleFreeRule final : TransformationRule {
  ScheduleFreeRule(Transformation base, Number learning_rate, const ScheduleFreeOptions& options)
      : TransformationRule("optim::schedule_free",
                           {positive("learning_rate", std::move(learning_rate)),
                            {"b1", options.b1, kAboveZero, 1},
                            any_number("weight_lr_power", options.weight_lr_power)}),
        inner(std::move(base)),
        state_dtype(options.state_dtype) {}
  State init(const Tensors& parameters) const override {
    State made;
    begin(made);
    made.values.erase("count");
    made.values["step_count"] = no_steps() + 1;
    for (const char* const each : {"weight_sum", "max_lr"}) made.values[each] = f64_of(0);
    made.values["b1"] = astype(made.numbers.at("b1") * f64_of(1), lowest_dtype(parameters));
    made.kept["z"] = copies_of(parameters);
    if (state_dtype) {
      for (auto& [path, value] : made.kept["z"]) value = astype(value, *state_dtype);
    }
    made.parts.emplace("inner", inner.init(parameters));
    return made;
  }
  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions& options) const override {
    expect_parameters(parameters);
    const Tensors n = numbers_at(state, "step_count");
    const Tensor most = maximum(state.values.at("max_lr"), n.at("learning_rate"));
    const Tensor weight = power(most, n.at("weight_lr_power"));
    const Tensor total = state.values.at("weight_sum") + weight;
    const Tensor ratio = weight / total;
    const Tensor part = where(logical_and(isnan(ratio), total == 0.), f64_of(0), ratio);
    const Tensors steps = update_of(inner, updates, state.parts.at("inner"), parameters, options);
    const Tensors before = state.kept.at("z");
    const Tensors after =
        cast_like(map_tensors(name, before, steps,
                              [](const Tensor& z, const Tensor& step) { return z + step; }),
                  before);
    const auto change = [&](const Tensor& at, const Tensor& old, const Tensor& now) {
      const Tensor b1 = number_in(n.at("b1"), at), share = number_in(part, at);
      Tensor mean = (at - (1. - b1) * old) / b1;
      mean = (1. - share) * mean + share * now;
      return b1 * mean + (1. - b1) * now - at;
    };
    const Tensors made = map_tensors(name, parameters, before, after, change);
    Tensors& values = state.values;
    values["b1"] = astype(n.at("b1"), values.at("b1").dtype());
    values["weight_sum"] = total;
    values["max_lr"] = most;
    values["step_count"] = values["step_count"] + 1;
    state.kept["z"] = after;
    return made;
  }
  Transformation inner;
  std::optional<DType> state_dtype;
};

struct SamRule final : TransformationRule {
  SamRule(Transformation optimizer, Transformation ascent, SamOptions given)
      : TransformationRule("optim::sam"),
        inner(std::move(optimizer)),
        adversary(std::move(ascent)),
        options(given) {
    whole(name + ": sync_period", options.sync_period);
  }
  State init(const Tensors& parameters) const override {
    State made;
    made.values["steps_since_sync"] = no_steps();
    made.parts.emplace("inner", inner.init(parameters));
    made.parts.emplace("adversary", adversary.init(parameters));
    if (!options.opaque_mode) made.kept["cache"] = copies_of(parameters);
    return made;
  }
  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions& extra) const override {
    expect_parameters(parameters);
    return options.opaque_mode ? in_one(updates, state, parameters, extra)
                               : by_steps(updates, state, parameters);
  }

  Tensors by_steps(const Tensors& updates, State& state, const Tensors& parameters) const {
    Tensor& since = state.values.at("steps_since_sync");
    Tensors& cache = state.kept.at("cache");
    const Tensor is_first = since == 0, is_last = since == options.sync_period - 1;
    State &own = state.parts.at("inner"), &other = state.parts.at("adversary");
    State next_own = own, next_other = other;
    const Tensors ascent = update_of(adversary, updates, next_other, parameters);
    const Tensors descent = update_of(inner, updates, next_own, cache);
    const Tensors back = map_tensors(name, cache, parameters, descent,
                                     [](const Tensor& start, const Tensor& here,
                                        const Tensor& step) { return start - here + step; });
    const Tensors made = map_tensors(name, back, ascent, [&](const Tensor& down, const Tensor& up) {
      return where(is_last, down, -up);
    });
    const State reset = options.reset_state ? adversary.init(parameters) : other;
    other = choose(is_last, reset, next_other);
    own = choose(is_last, next_own, own);
    cache = choose(is_first, parameters, cache);
    since = remainder(since + 1, options.sync_period);
    return made;
  }

  Tensors in_one(Tensors updates, State& state, const Tensors& parameters,
                 const UpdateOptions& extra) const {
    if (!extra.grad_fn) {
      throw TypeError("optim::sam: grad_fn is missing, which opaque_mode needs")
          .at(Location::of_caller())
          .hint("update(model, gradients, {.grad_fn = …}), a function of the parameters");
    }
    Tensors here = parameters;
    State& other = state.parts.at("adversary");
    for (int i = 0; i + 1 < options.sync_period; ++i) {
      const Tensors ascent = update_of(adversary, updates, other, here);
      here = apply_updates(here, map_tensors(ascent, [](const Tensor& x) { return -x; }));
      updates = extra.grad_fn(here, i);
    }
    if (options.reset_state) other = adversary.init(parameters);
    return update_of(inner, updates, state.parts.at("inner"), parameters);
  }

  Transformation inner, adversary;
  SamOptions options;
};

struct MechanizeRule final : TransformationRule {
  MechanizeRule(Transformation base, const MechanizeOptions& options)
      : TransformationRule("optim::mechanize",
                           {any_number("weight_decay", options.weight_decay),
                            positive("eps", options.eps), positive("s_init", options.s_init)}),
        inner(std::move(base)),
        num_betas(whole(name + ": num_betas", options.num_betas)) {}
  State init(const Tensors& parameters) const override {
    State made;
    begin(made);
    const DType dtype = wide(lowest_dtype(parameters));
    for (const char* const each : {"r", "m", "v"}) made.values[each] = zeros({num_betas}, dtype);
    made.values["s"] = zeros({num_betas}, dtype) + astype(made.numbers.at("s_init"), dtype);
    made.kept["x0"] = copies_of(parameters);
    made.parts.emplace("inner", inner.init(parameters));
    return made;
  }
  Tensors update(const Tensors& given, State& state, const Tensors& parameters,
                 const UpdateOptions& options) const override {
    expect_parameters(parameters);
    Tensors& values = state.values;
    const Tensors exact = numbers_at(state);
    const StepNumbers n(exact, values.at("s").dtype());
    const Tensors steps = update_of(inner, given, state.parts.at("inner"), parameters, options);
    const Tensors start = choose(values.at("count") == 0, parameters, state.kept.at("x0"));
    const Tensor total = sum(values.at("s"));
    const Tensor decay =
        n["weight_decay"] * total * global_norm(given) / (global_norm(parameters) + n["eps"]);
    const Tensors updates = map_tensors(
        name, given, parameters,
        [&](const Tensor& update, const Tensor& at) { return update + number_in(decay, at) * at; });
    const Tensors before =
        map_tensors(name, parameters, start, [&](const Tensor& at, const Tensor& begun) {
          return (begun - at) / number_in(total + n["eps"], at);
        });
    const Tensors after = map_tensors(
        name, before, steps, [](const Tensor& each, const Tensor& step) { return each - step; });
    learn(n, values, astype(dot_of(updates, before), values.at("s").dtype()));
    const Tensor size = sum(values.at("s"));
    const Tensors made =
        map_tensors(name, start, after, parameters,
                    [&](const Tensor& begun, const Tensor& each, const Tensor& at) {
                      return begun - number_in(size, at) * each - at;
                    });
    state.kept["x0"] = start;
    values["count"] = values["count"] + 1;
    return made;
  }
  void learn(const StepNumbers& n, Tensors& values, const Tensor& gain) const {
    std::vector<Tensor> factors;
    double rest = 1;
    for (int64_t i = 0; i < num_betas; ++i) {
      rest *= 0.1;
      factors.push_back(full({}, 1 - rest, gain.dtype()));
    }
    const Tensor betas = stack(factors);
    Tensor &r = values["r"], &m = values["m"], &v = values["v"], &s = values["s"];
    const Tensor bounded = clip(gain + zeros_like(m), -m, m);
    m = maximum(betas * m, absolute(gain) + n["eps"]);
    v = betas * betas * v + gain * gain;
    r = betas * r + bounded * s;
    const Tensor wealth = n["s_init"] / static_cast<double>(num_betas) * m + maximum(r, 0.);
    s = wealth / (sqrt(v) + n["eps"]);
  }
  Transformation inner;
  int64_t num_betas;
};

struct LossScaleRule final : TransformationRule {
  LossScaleRule(Transformation transformation, const LossScaleOptions& options)
      : TransformationRule("optim::loss_scale",
                           {{"growth_interval", options.growth_interval, 1},
                            {"growth_factor", options.growth_factor, 1},
                            decay_number("backoff_factor", options.backoff_factor)}),
        inner(std::move(transformation)),
        initial_scale(options.initial_scale),
        min_scale(options.min_scale) {
    Number(initial_scale).expect_within(name + ": initial_scale", kAboveZero, kInfinity);
    Number(min_scale).expect_within(name + ": min_scale", kAboveZero, kInfinity);
    if (initial_scale >= min_scale) return;
    throw ValueError("{}: initial_scale is {}, expected min_scale, {}, or more", name,
                     initial_scale, min_scale)
        .at(Location::of_caller())
        .hint(fmt::format("pass .min_scale = {} or less", initial_scale));
  }
  State init(const Tensors& parameters) const override {
    State made;
    begin(made);
    made.values["loss_scale"] = full({}, initial_scale, DType::f32);
    made.values["good_steps"] = no_steps();
    made.values["skipped"] = no_steps();
    made.parts.emplace("inner", inner.init(parameters));
    return made;
  }
  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions& options) const override {
    const Tensors n = numbers_at(state);
    Tensors& values = state.values;
    const Tensor scale = values.at("loss_scale");
    const Tensors unscaled =
        map_tensors(updates, [&](const Tensor& each) { return each / number_in(scale, each); });
    const Tensor is_good = are_finite(unscaled);
    const Tensors made = update_if(is_good, inner, unscaled, state.parts.at("inner"), parameters,
                                   options, zeros_of(unscaled));
    const Tensor steps = where(is_good, values.at("good_steps") + 1, no_steps());
    const Tensor grows = as_f64(steps) >= n.at("growth_interval"), one = f64_of(1);
    const Tensor factor =
        where(is_good, where(grows, n.at("growth_factor"), one), n.at("backoff_factor"));
    const Tensor wanted = scale * astype(factor, DType::f32);
    values["loss_scale"] = maximum(where(isfinite(wanted), wanted, scale), min_scale);
    values["good_steps"] = where(grows, no_steps(), steps);
    values["skipped"] = values["skipped"] + as_i64(logical_not(is_good));
    values["count"] = values["count"] + 1;
    return made;
  }
  Transformation inner;
  double initial_scale, min_scale;
};

Number warmed_up(double learning_rate, std::optional<int64_t> warmup_steps) {
  if (!warmup_steps) return learning_rate;
  const auto rule = [](const Schedule& s, const Tensor& step) {
    return s["learning_rate"] * clip(step / s["warmup_steps"], 0., 1.);
  };
  return Schedule(rule, {{"learning_rate", learning_rate},
                         {"warmup_steps", static_cast<double>(*warmup_steps)}});
}

}  // namespace

Transformation lookahead(Transformation fast_optimizer, int64_t sync_period, Number slow_step_size,
                         bool reset_state) {
  return transformation_of<LookaheadRule>(std::move(fast_optimizer), sync_period,
                                          std::move(slow_step_size), reset_state);
}

Transformation schedule_free(Transformation base_optimizer, Number learning_rate,
                             const ScheduleFreeOptions& options) {
  return transformation_of<ScheduleFreeRule>(std::move(base_optimizer), std::move(learning_rate),
                                             options);
}

Tensors schedule_free_eval_params(const State& state, const Tensors& parameters) {
  const auto z = state.kept.find("z");
  const auto b1 = state.values.find("b1");
  if (z == state.kept.end() || b1 == state.values.end()) {
    throw TypeError("optim::schedule_free_eval_params: the state is not that of schedule_free")
        .at(Location::of_caller());
  }
  const Tensors made = map_tensors("optim::schedule_free_eval_params", parameters, z->second,
                                   [&](const Tensor& at, const Tensor& other) {
                                     const Tensor decay = number_in(b1->second, at);
                                     return (at - (1. - decay) * other) / decay;
                                   });
  return cast_like(made, parameters);
}

Transformation schedule_free_sgd(double learning_rate, const ScheduleFreeSgdOptions& options) {
  const Number rate = warmed_up(learning_rate, options.warmup_steps);
  Transformation inner = sgd(rate);
  if (options.weight_decay) inner = chain(add_decayed_weights(*options.weight_decay), inner);
  return schedule_free(inner, rate,
                       {.b1 = options.b1,
                        .weight_lr_power = options.weight_lr_power,
                        .state_dtype = options.state_dtype});
}

Transformation schedule_free_adamw(double learning_rate, const ScheduleFreeAdamwOptions& options) {
  const Number rate = warmed_up(learning_rate, options.warmup_steps);
  const Transformation inner = chain(
      scale_by_rms(
          {.decay = options.b2, .eps = options.eps, .eps_in_sqrt = false, .bias_correction = true}),
      add_decayed_weights(options.weight_decay), scale_by_learning_rate(rate));
  return schedule_free(inner, rate,
                       {.b1 = options.b1,
                        .weight_lr_power = options.weight_lr_power,
                        .state_dtype = options.state_dtype});
}

Transformation sam(Transformation optimizer, Transformation adv_optimizer,
                   const SamOptions& options) {
  return transformation_of<SamRule>(std::move(optimizer), std::move(adv_optimizer), options);
}

Transformation mechanize(Transformation base_optimizer, const MechanizeOptions& options) {
  return transformation_of<MechanizeRule>(std::move(base_optimizer), options);
}

Transformation loss_scale(Transformation inner, const LossScaleOptions& options) {
  return transformation_of<LossScaleRule>(std::move(inner), options);
}

}  // namespace plait::optim
