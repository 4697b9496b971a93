#include "plait/optim/transformations/conditions.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/inside/transformation_rule.h"

namespace plait::optim {
namespace {

struct FiniteRule final : TransformationRule {
  FiniteRule(Transformation transformation, int64_t most)
      : TransformationRule("optim::apply_if_finite"),
        inner(std::move(transformation)),
        max_consecutive_errors(whole(name + ": max_consecutive_errors", most, 0)) {}
  State init(const Tensors& parameters) const override {
    State made;
    made.values = {{"notfinite_count", no_steps()},
                   {"last_finite", full({}, true)},
                   {"total_notfinite", no_steps()}};
    made.parts.emplace("inner", inner.init(parameters));
    return made;
  }
  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions& options) const override {
    const Tensor is_finite = are_finite(updates);
    Tensor& count = state.values.at("notfinite_count");
    const Tensor failed = as_i64(where(is_finite, zeros_like(count), count + 1));
    const Tensor goes_on = logical_or(is_finite, failed > max_consecutive_errors);
    const Tensors made = update_if(goes_on, inner, updates, state.parts.at("inner"), parameters,
                                   options, zeros_of(updates));
    count = failed;
    state.values["last_finite"] = is_finite;
    Tensor& total = state.values["total_notfinite"];
    total = total + as_i64(logical_not(is_finite));
    return made;
  }
  Transformation inner;
  int64_t max_consecutive_errors;
};

struct ConditionalRule final : TransformationRule {
  ConditionalRule(std::string rule, Transformation transformation, Condition when, bool masks)
      : TransformationRule(std::move(rule)),
        inner(std::move(transformation)),
        condition(std::move(when)),
        is_mask(masks) {}
  State init(const Tensors& parameters) const override {
    State made;
    made.values["step"] = no_steps();
    made.parts.emplace("inner", inner.init(parameters));
    return made;
  }
  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions& options) const override {
    Tensor& step = state.values.at("step");
    const Tensors made = update_if(condition(step), inner, updates, state.parts.at("inner"),
                                   parameters, options, is_mask ? zeros_of(updates) : updates);
    step = step + 1;
    return made;
  }
  Transformation inner;
  Condition condition;
  bool is_mask;
};

struct MultiStepsRule final : TransformationRule {
  MultiStepsRule(Transformation transformation, Number k, MultiStepsOptions given)
      : TransformationRule("optim::multi_steps", {{"every_k_schedule", std::move(k), 1}}),
        inner(std::move(transformation)),
        options(std::move(given)) {}

  State init(const Tensors& parameters) const override {
    State made;
    begin(made);
    made.values.erase("count");
    made.values["mini_step"] = no_steps();
    made.values["gradient_step"] = no_steps();
    for (const auto& [path, value] : parameters) {
      const DType dtype = options.accumulator_dtype.value_or(value.dtype());
      made.kept["acc_grads"][path] =
          zeros_like(is_complex(value.dtype()) ? value : astype(value, dtype));
    }
    made.parts.emplace("inner", inner.init(parameters));
    if (options.should_skip_update_fn) {
      made.kept["skip_state"] =
          options.should_skip_update_fn(zeros_of(parameters), no_steps(), parameters).second;
    }
    return made;
  }

  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions& extra) const override {
    const State before = state;
    const Tensor steps = as_i64(numbers_at(state, "gradient_step").at("every_k_schedule"));
    const Tensor place = state.values.at("mini_step");
    const Tensor due = place == steps - 1;
    std::pair<Tensor, Tensors> skips;
    if (options.should_skip_update_fn) {
      skips = options.should_skip_update_fn(updates, state.values.at("gradient_step"), parameters);
    }
    const Tensors total = map_tensors(name, updates, state.kept.at("acc_grads"),
                                      [&](const Tensor& now, const Tensor& old) {
                                        if (!options.use_grad_mean) return old + now;
                                        const DType dtype = plait::real_dtype(old.dtype());
                                        return old + (now - old) / astype(place + 1, dtype);
                                      });
    const Tensor applies = skips.first ? logical_and(due, logical_not(skips.first)) : due;
    const Tensors made = update_if(applies, inner, total, state.parts.at("inner"), parameters,
                                   extra, zeros_of(total));
    state.values["mini_step"] = remainder(place + 1, steps);
    state.values["gradient_step"] = state.values["gradient_step"] + as_i64(due);
    state.kept["acc_grads"] =
        choose(due, zeros_of(total), cast_like(total, before.kept.at("acc_grads")));
    if (skips.first) keep_if(skips.first, before, state);
    if (skips.first) state.kept["skip_state"] = skips.second;
    return made;
  }

  // The counts and sums as before, if the updates are left out.
  static void keep_if(const Tensor& skips, const State& before, State& state) {
    state.values = choose(skips, before.values, state.values);
    state.kept["acc_grads"] =
        choose(skips, before.kept.at("acc_grads"), state.kept.at("acc_grads"));
  }

  Transformation inner;
  MultiStepsOptions options;
};

struct EmaOfMeasureRule final : TransformationRule {
  EmaOfMeasureRule(Measure of, Number decay, bool is_debiased)
      : TransformationRule("optim::measure_with_ema", {decay_number("decay", std::move(decay))}),
        measure(std::move(of)),
        debias(is_debiased) {}
  State init(const Tensors& parameters) const override {
    State made;
    begin(made);
    made.values["ema"] = made.values["average"] = zeros_like(measure(parameters));
    return made;
  }
  Tensors update(const Tensors& updates, State& state, const Tensors&,
                 const UpdateOptions&) const override {
    const Tensors exact = numbers_at(state);
    const Tensor now = measure(updates), t = as_f64(state.values.at("count") + 1);
    const StepNumbers n(exact, now.dtype());
    const Tensor next = n.mix("decay", state.values.at("ema"), now);
    const Tensor bias = astype(1. - power(exact.at("decay"), t), now.dtype());
    state.values["ema"] = next;
    state.values["average"] = debias ? next / bias : next * ones_like(next);
    state.values["count"] = state.values["count"] + 1;
    return updates;
  }
  Measure measure;
  bool debias;
};

struct PlateauRule final : TransformationRule {
  explicit PlateauRule(const ReduceOnPlateauOptions& options)
      : TransformationRule("optim::reduce_on_plateau",
                           {{"factor", options.factor, kAboveZero, 1},
                            positive("patience", options.patience),
                            {"rtol", options.rtol, 0, kAboveOne},
                            positive("atol", options.atol),
                            positive("cooldown", options.cooldown),
                            {"accumulation_size", options.accumulation_size, 1},
                            positive("min_scale", options.min_scale)}) {
    for (const Number* const each :
         {&options.factor, &options.patience, &options.rtol, &options.atol, &options.cooldown,
          &options.accumulation_size, &options.min_scale}) {
      if (each->schedule() == nullptr) continue;
      throw ValueError(
          "optim::reduce_on_plateau: a number is a schedule, expected one that is the same in all "
          "steps")
          .at(Location::of_caller());
    }
    if (options.rtol.is_zero() && options.atol.is_zero()) {
      throw ValueError("optim::reduce_on_plateau: rtol and atol are 0, expected one above 0")
          .at(Location::of_caller());
    }
  }
  State init(const Tensors&) const override {
    State made;
    begin(made);
    made.values["scale"] = f64_of(1);
    made.values["best_value"] = f64_of(kInfinity);
    made.values["avg_value"] = f64_of(0);
    for (const char* const each : {"plateau_count", "cooldown_count"}) {
      made.values[each] = no_steps();
    }
    return made;
  }
  Tensors update(const Tensors& updates, State& state, const Tensors&,
                 const UpdateOptions& options) const override {
    const Tensors n = numbers_at(state);
    Tensors& s = state.values;
    const Tensor value = expect_value(name, options), count = as_f64(s["count"]);
    const Tensor average = (count * s["avg_value"] + value) / (count + 1.);
    const Tensor is_due = count + 1. == n.at("accumulation_size"), zero = no_steps();
    const Tensor better =
        logical_and(is_due, average < (1. - n.at("rtol")) * s["best_value"] - n.at("atol"));
    const Tensor waited = where(better, zero, s["plateau_count"] + 1);
    const Tensor cools = s["cooldown_count"] > 0;
    const Tensor is_late = waited == as_i64(n.at("patience"));
    const Tensor reduces = logical_and(is_due, logical_and(logical_not(cools), is_late));
    const Tensor reduced = where(reduces, s["scale"] * n.at("factor"), s["scale"]);
    const Tensor least = where(cools, f64_of(0), n.at("min_scale"));
    const Tensor scale = where(is_due, maximum(reduced, least), s["scale"]);
    const Tensor waits = where(logical_or(cools, reduces), zero, waited);
    const Tensor rest =
        where(cools, s["cooldown_count"] - 1, where(reduces, as_i64(n.at("cooldown")), zero));
    s["scale"] = scale;
    s["best_value"] = where(better, average, s["best_value"]);
    s["plateau_count"] = where(is_due, waits, s["plateau_count"]);
    s["cooldown_count"] = where(is_due, rest, s["cooldown_count"]);
    s["count"] = where(is_due, zero, s["count"] + 1);
    s["avg_value"] = where(is_due, f64_of(0), average);
    return map_tensors(updates, [&](const Tensor& each) {
      return astype(scale, plait::real_dtype(each.dtype())) * each;
    });
  }
};

}  // namespace

Transformation apply_if_finite(Transformation inner, int64_t max_consecutive_errors) {
  return transformation_of<FiniteRule>(std::move(inner), max_consecutive_errors);
}

Transformation conditionally_transform(Transformation inner, Condition should_transform_fn) {
  return transformation_of<ConditionalRule>("optim::conditionally_transform", std::move(inner),
                                            std::move(should_transform_fn), false);
}
Transformation conditionally_mask(Transformation inner, Condition should_transform_fn) {
  return transformation_of<ConditionalRule>("optim::conditionally_mask", std::move(inner),
                                            std::move(should_transform_fn), true);
}

std::pair<Tensor, Tensors> skip_not_finite(const Tensors& updates, const Tensor&, const Tensors&) {
  Tensor count = no_steps();
  for (const auto& [path, value] : updates) {
    count = count + sum(as_i64(logical_not(isfinite(value))));
  }
  return {count > 0, {{"should_skip", count > 0}, {"num_not_finite", count}}};
}

SkipFunction skip_large_updates(double max_squared_norm) {
  Number(max_squared_norm)
      .expect_within("optim::skip_large_updates: max_squared_norm", 0, kInfinity);
  return [=](const Tensors& updates, const Tensor&, const Tensors&) {
    const Tensor norm = squared_norm(updates);
    const Tensor is_large = logical_not(norm < max_squared_norm);
    return std::pair(is_large, Tensors{{"should_skip", is_large}, {"norm_squared", norm}});
  };
}

Transformation multi_steps(Transformation inner, Number every_k_schedule,
                           const MultiStepsOptions& options) {
  return transformation_of<MultiStepsRule>(std::move(inner), std::move(every_k_schedule), options);
}

Tensor has_updated(const State& state) {
  return logical_and(state.values.at("mini_step") == 0, state.values.at("gradient_step") > 0);
}

Transformation monitor(std::map<std::string, Measure> measures) {
  const auto measured = [measures = std::move(measures)](const Tensors& tensors) {
    State made;
    for (const auto& [name, measure] : measures) made.values[name] = measure(tensors);
    return made;
  };
  return gradient_transformation(
      measured, [measured](const Tensors& updates, const State&, const Tensors&,
                           const UpdateOptions&) { return std::pair(updates, measured(updates)); });
}

Transformation snapshot(std::string measure_name, Measure measure) {
  return monitor({{std::move(measure_name), std::move(measure)}});
}

Transformation measure_with_ema(Measure measure, Number decay, bool debias) {
  return transformation_of<EmaOfMeasureRule>(std::move(measure), std::move(decay), debias);
}

Transformation reduce_on_plateau(const ReduceOnPlateauOptions& options) {
  return transformation_of<PlateauRule>(options);
}

}  // namespace plait::optim
