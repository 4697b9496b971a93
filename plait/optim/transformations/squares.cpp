#include "plait/optim/transformations/squares.h"

#include <algorithm>
#include <numeric>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/inside/transformation_rule.h"

namespace plait::optim {
namespace {

using Kept = std::span<Tensor>;

// 0 where the sum is 0.
Tensor inverse_root(const Tensor& total, const Tensor& eps) {
  return where(total > 0., rsqrt(total + eps), zeros_like(total));
}

// scale_by_rms and scale_by_stddev.
struct RmsFormula {
  bool eps_in_sqrt, bias_correction;

  Tensor corrected(const StepNumbers& n, const Tensor& moment) const {
    return bias_correction ? moment / n["bias"] : moment;
  }
  Tensor factor(const StepNumbers& n, const Tensor& squares) const {
    return eps_in_sqrt ? rsqrt(squares + n["eps"]) : 1. / (sqrt(squares) + n["eps"]);
  }
};

PerParameter rms_rule(std::string name, const ScaleByRmsOptions& options) {
  return {.name = std::move(name),
          .numbers = {decay_number("decay", options.decay), positive("eps", options.eps),
                      positive("initial_scale", options.initial_scale)},
          .at = [](Tensors& n, const Tensor& t, const Tensors&) {
            n["bias"] = 1. - power(n["decay"], t);
          }};
}

// The second largest and the largest axis, if both are large enough.
std::optional<std::pair<int64_t, int64_t>> axes_to_factor(const Tensor& x,
                                                          const FactoredRmsOptions& options) {
  if (!options.factored || x.rank() < 2) return std::nullopt;
  std::vector<int64_t> order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  const auto size = [&](int64_t axis) { return x.shape(axis).number(); };
  std::ranges::sort(order, {}, [&](int64_t axis) { return std::pair(size(axis), axis); });
  const int64_t shorter = order[order.size() - 2], longer = order.back();
  if (size(shorter) < options.min_dim_size_to_factor) return std::nullopt;
  return std::pair(shorter, longer);
}

}  // namespace

Transformation scale_by_rss(Number initial_accumulator_value, Number eps) {
  return per_parameter(
      {.name = "optim::scale_by_rss",
       .numbers = {positive("initial_accumulator_value", std::move(initial_accumulator_value)),
                   positive("eps", std::move(eps))},
       .kept = {"sum_of_squares"},
       .begin =
           [](const Tensor& parameter, const StepNumbers& n) {
             return std::vector{filled(parameter, n.exact("initial_accumulator_value"))};
           },
       .one =
           [](const StepNumbers& n, const Tensor& update, const Tensor&, Kept kept) {
             kept[0] = squared(update) + kept[0];
             return inverse_root(kept[0], n["eps"]) * update;
           }});
}

Transformation scale_by_rms(const ScaleByRmsOptions& options) {
  PerParameter rule = rms_rule("optim::scale_by_rms", options);
  rule.kept = {"nu"};
  rule.begin = [](const Tensor& parameter, const StepNumbers& n) {
    return std::vector{filled(parameter, n.exact("initial_scale"))};
  };
  const RmsFormula formula{options.eps_in_sqrt, options.bias_correction};
  rule.one = [formula](const StepNumbers& n, const Tensor& update, const Tensor&, Kept kept) {
    kept[0] = n.mix("decay", kept[0], squared(update));
    return formula.factor(n, formula.corrected(n, kept[0])) * update;
  };
  return per_parameter(std::move(rule));
}

Transformation scale_by_stddev(const ScaleByRmsOptions& options) {
  PerParameter rule = rms_rule("optim::scale_by_stddev", options);
  rule.kept = {"mu", "nu"};
  rule.begin = [](const Tensor& parameter, const StepNumbers& n) {
    return std::vector{zeros_like(parameter), filled(parameter, n.exact("initial_scale"))};
  };
  const RmsFormula formula{options.eps_in_sqrt, options.bias_correction};
  rule.one = [formula](const StepNumbers& n, const Tensor& update, const Tensor&, Kept kept) {
    kept[0] = n.mix("decay", kept[0], update);
    kept[1] = n.mix("decay", kept[1], squared(update));
    const Tensor variance = formula.corrected(n, kept[1]) - squared(formula.corrected(n, kept[0]));
    return formula.factor(n, variance) * update;
  };
  return per_parameter(std::move(rule));
}

Transformation scale_by_adadelta(Number rho, Number eps) {
  return per_parameter(
      {.name = "optim::scale_by_adadelta",
       .numbers = {decay_number("rho", std::move(rho)), positive("eps", std::move(eps))},
       .kept = {"e_g", "e_x"},
       .one = [](const StepNumbers& n, const Tensor& update, const Tensor&, Kept kept) {
         kept[0] = n.mix("rho", kept[0], update * update);
         const Tensor made = sqrt(kept[1] + n["eps"]) / sqrt(kept[0] + n["eps"]) * update;
         kept[1] = n.mix("rho", kept[1], made * made);
         return made;
       }});
}

Transformation scale_by_novograd(const ScaleByNovogradOptions& options) {
  return per_parameter(
      {.name = "optim::scale_by_novograd",
       .numbers = {decay_number("b1", options.b1), decay_number("b2", options.b2),
                   positive("eps", options.eps), positive("eps_root", options.eps_root),
                   any_number("weight_decay", options.weight_decay)},
       .kept = {"mu", "nu"},
       .reads_parameters = true,
       .begin =
           [dtype = options.mu_dtype](const Tensor& parameter, const StepNumbers&) {
             const DType own = dtype.value_or(parameter.dtype());
             return std::vector{zeros_like(astype(parameter, own)),
                                zeros({}, plait::real_dtype(parameter.dtype()))};
           },
       .at =
           [](Tensors& n, const Tensor& t, const Tensors&) {
             const Tensor is_first = t == 1., zero = f64_of(0);
             n["past"] = where(is_first, zero, n["b2"]);
             n["momentum"] = where(is_first, zero, n["b1"]);
           },
       .one =
           [](const StepNumbers& n, const Tensor& update, const Tensor& parameter, Kept kept) {
             kept[1] = n.mix("past", kept[1], sum_of_squares(update));
             kept[0] = n["momentum"] * kept[0] +
                       update / (sqrt(kept[1] + n["eps_root"]) + n["eps"]) +
                       n["weight_decay"] * parameter;
             return kept[0];
           }});
}

Transformation scale_by_optimistic_gradient(Number alpha, Number beta) {
  return per_parameter(
      {.name = "optim::scale_by_optimistic_gradient",
       .numbers = {any_number("alpha", std::move(alpha)), any_number("beta", std::move(beta))},
       .kept = {"previous_gradient"},
       .at = [](Tensors& n, const Tensor& t, const Tensors&) { n["is_later"] = as_f64(t > 1.); },
       .one =
           [](const StepNumbers& n, const Tensor& update, const Tensor&, Kept kept) {
             const Tensor before = where(n.exact("is_later") > 0., kept[0], update);
             kept[0] = update * ones_like(update);
             return (n["alpha"] + n["beta"]) * update - n["beta"] * before;
           }});
}

Transformation scale_by_rprop(Number learning_rate, const ScaleByRpropOptions& options) {
  return per_parameter(
      {.name = "optim::scale_by_rprop",
       .numbers = {positive("learning_rate", std::move(learning_rate)),
                   decay_number("eta_minus", options.eta_minus),
                   positive("eta_plus", options.eta_plus),
                   positive("min_step_size", options.min_step_size),
                   positive("max_step_size", options.max_step_size)},
       .kept = {"step_sizes", "prev_updates"},
       .begin =
           [](const Tensor& parameter, const StepNumbers& n) {
             return std::vector{filled(parameter, n.exact("learning_rate")), zeros_like(parameter)};
           },
       .one =
           [](const StepNumbers& n, const Tensor& update, const Tensor&, Kept kept) {
             const Tensor same = update * kept[1], zero = zeros_like(update);
             const Tensor changed = clip(kept[0] * where(same > 0., n["eta_plus"], n["eta_minus"]),
                                         n["min_step_size"], n["max_step_size"]);
             kept[0] = where(same == 0., kept[0], changed);
             const Tensor made = where(same < 0., zero, kept[1]);
             kept[1] = where(same < 0., zero, kept[0] * sign(update));
             return made;
           }});
}

Transformation apply_every(Number k) {
  return per_parameter(
      {.name = "optim::apply_every",
       .numbers = {{"k", std::move(k), 1}},
       .kept = {"grad_acc"},
       .at =
           [](Tensors& n, const Tensor& t, const Tensors&) {
             const Tensor place = remainder(t - 1., n["k"]);
             n["goes_on"] = as_f64(place > 0.);
             n["is_due"] = as_f64(place == n["k"] - 1.);
           },
       .one =
           [](const StepNumbers& n, const Tensor& update, const Tensor&, Kept kept) {
             kept[0] = n["goes_on"] * kept[0] + update;
             return n["is_due"] * kept[0];
           }});
}

Transformation scale_by_cocob(Number alpha, Number eps) {
  return per_parameter(
      {.name = "optim::scale_by_cocob",
       .numbers = {positive("alpha", std::move(alpha)), positive("eps", std::move(eps))},
       .kept = {"init_particles", "cumulative_gradients", "scale", "subgradients", "reward"},
       .reads_parameters = true,
       .begin =
           [](const Tensor& parameter, const StepNumbers& n) {
             return std::vector{parameter * ones_like(parameter), zeros_like(parameter),
                                filled(parameter, n.exact("eps")), zeros_like(parameter),
                                zeros_like(parameter)};
           },
       .one =
           [](const StepNumbers& n, const Tensor& update, const Tensor& parameter, Kept kept) {
             const Tensor& start = kept[0];
             Tensor &total = kept[1], &largest = kept[2], &magnitudes = kept[3], &reward = kept[4];
             largest = maximum(largest, absolute(update));
             magnitudes = magnitudes + absolute(update);
             reward = maximum(reward - update * (parameter - start), 0.);
             total = total - update;
             const Tensor bet = total /
                                (largest * maximum(magnitudes + largest, n["alpha"] * largest)) *
                                (largest + reward);
             return start + bet - parameter;
           }});
}

Transformation scale_by_madgrad(Number learning_rate, Number momentum, Number eps) {
  return per_parameter(
      {.name = "optim::scale_by_madgrad",
       .numbers = {any_number("learning_rate", std::move(learning_rate)),
                   decay_number("momentum", std::move(momentum)), positive("eps", std::move(eps))},
       .kept = {"grad_sum_sq", "s", "x0"},
       .reads_parameters = true,
       .begin =
           [](const Tensor& parameter, const StepNumbers&) {
             return std::vector{zeros_like(parameter), zeros_like(parameter),
                                parameter * ones_like(parameter)};
           },
       .at = [](Tensors& n, const Tensor& t,
                const Tensors&) { n["factor"] = (n["learning_rate"] + n["eps"]) * sqrt(t); },
       .one =
           [](const StepNumbers& n, const Tensor& update, const Tensor& parameter, Kept kept) {
             kept[0] = kept[0] + n["factor"] * update * update;
             kept[1] = kept[1] + n["factor"] * update;
             const Tensor goal = kept[2] - kept[1] / (cbrt(kept[0]) + n["eps"]);
             return n.mix("momentum", parameter, goal) - parameter;
           }});
}

Transformation scale_by_distance_over_gradients(const DistanceOverGradientsOptions& options) {
  return per_parameter(
      {.name = "optim::scale_by_distance_over_gradients",
       .numbers = {positive("reps_rel", options.reps_rel), positive("eps", options.eps),
                   any_number("global_scale", options.global_scale)},
       .kept = {"max_dist", "grad_sum_of_squares", "init_params"},
       .reads_parameters = true,
       .begin =
           [dtype = options.param_dtype](const Tensor& parameter, const StepNumbers& n) {
             const Tensor norm = sqrt(sum_of_squares(as_wide(parameter)));
             return std::vector{n["reps_rel"] * (1. + norm), zeros_like(norm),
                                astype(parameter, dtype) * ones({}, dtype)};
           },
       .one =
           [](const StepNumbers& n, const Tensor& update, const Tensor& parameter, Kept kept) {
             kept[0] = maximum(kept[0], sqrt(sum_of_squares(parameter - kept[2])));
             kept[1] = kept[1] + sum_of_squares(update);
             return n["global_scale"] * (kept[0] / sqrt(kept[1] + n["eps"])) * update;
           }});
}

Transformation scale_by_factored_rms(const FactoredRmsOptions& options) {
  const auto begin = [options](const Tensor& parameter, const StepNumbers&) {
    const DType dtype = parameter.dtype();
    const auto axes = axes_to_factor(parameter, options);
    if (!axes) return std::vector{zeros({1}, dtype), zeros({1}, dtype), zeros_like(parameter)};
    return std::vector{zeros_like(mean(parameter, axes->second)),
                       zeros_like(mean(parameter, axes->first)), zeros({1}, dtype)};
  };
  const auto one = [options](const StepNumbers& n, const Tensor& update, const Tensor& parameter,
                             Kept kept) {
    const Tensor now = squared(update) + n["epsilon"];
    const auto axes = axes_to_factor(parameter, options);
    if (!axes) {
      kept[2] = n.mix("rate", kept[2], now);
      return update * rsqrt(kept[2]);
    }
    const auto [shorter, longer] = *axes;
    kept[0] = n.mix("rate", kept[0], mean(now, longer));
    kept[1] = n.mix("rate", kept[1], mean(now, shorter));
    const Tensor average = mean(kept[0], shorter > longer ? shorter - 1 : shorter, true);
    return update * expand_dims(rsqrt(kept[0] / average), longer) *
           expand_dims(rsqrt(kept[1]), shorter);
  };
  return per_parameter({.name = "optim::scale_by_factored_rms",
                        .numbers = {any_number("decay_rate", options.decay_rate),
                                    positive("epsilon", options.epsilon)},
                        .kept = {"v_row", "v_col", "v"},
                        .reads_parameters = true,
                        .begin = begin,
                        .at =
                            [options](Tensors& n, const Tensor& t, const Tensors&) {
                              const Tensor steps =
                                  t - 1. - static_cast<double>(options.step_offset);
                              n["rate"] =
                                  options.decay_rate_fn
                                      ? as_f64(options.decay_rate_fn(steps, n["decay_rate"]))
                                      : 1. - power(steps + 1., -n["decay_rate"]);
                            },
                        .one = one});
}

namespace {

struct Sm3Rule final : TransformationRule {
  Sm3Rule(Number b1, Number b2, Number eps)
      : TransformationRule("optim::scale_by_sm3", {decay_number("b1", std::move(b1)),
                                                   {"b2", std::move(b2), 0, kAboveOne},
                                                   positive("eps", std::move(eps))}) {}

  static std::string of_axis(const std::string& path, size_t axis) {
    return path + "." + std::to_string(axis);
  }
  // The shape of the bounds along an axis: 1 along all others.
  static Tensor bounds_of(const Tensor& x, size_t axis) {
    std::vector<int64_t> others;
    for (size_t i = 0; i < x.rank(); ++i) {
      if (i != axis) others.push_back(static_cast<int64_t>(i));
    }
    return x.rank() < 2 ? x : max(x, others, true);
  }
  static size_t count_of(const Tensor& x) { return std::max<size_t>(x.rank(), 1); }

  State init(const Tensors& parameters) const override {
    State made;
    begin(made);
    for (const auto& [path, value] : parameters) {
      if (is_complex(value.dtype())) {
        throw TypeError("{}: {} is complex, expected real numbers", name, path)
            .at(Location::of_caller());
      }
      made.kept["nu"][path] = zeros_like(value);
      for (size_t axis = 0; axis < count_of(value); ++axis) {
        made.kept["mu"][of_axis(path, axis)] = zeros_like(bounds_of(value, axis));
      }
    }
    return made;
  }

  Tensors update(const Tensors& updates, State& state, const Tensors&,
                 const UpdateOptions&) const override {
    Tensors exact = numbers_at(state);
    exact["new"] = where(exact["b2"] == 1., f64_of(1), 1. - exact["b2"]);
    Tensors made;
    for (const auto& [path, given] : updates) {
      const Tensor update = as_wide(given);
      const StepNumbers n(exact, update.dtype());
      Tensors& mu = state.kept.at("mu");
      Tensor least;
      for (size_t axis = 0; axis < count_of(update); ++axis) {
        const Tensor bound = as_wide(at_path(name, "the state's mu", mu, of_axis(path, axis)));
        least = least ? minimum(least, bound) : bound;
      }
      Tensor& nu = state.kept.at("nu").at(path);
      const Tensor total = n["new"] * update * update + n["b2"] * least;
      const Tensor next = n.mix("b1", as_wide(nu), update * inverse_root(total, n["eps"]));
      for (size_t axis = 0; axis < count_of(update); ++axis) {
        Tensor& bound = mu.at(of_axis(path, axis));
        bound = astype(bounds_of(total, axis), bound.dtype());
      }
      nu = astype(next, nu.dtype());
      made.emplace(path, next);
    }
    state.values["count"] = state.values["count"] + 1;
    return made;
  }
};

}  // namespace

Transformation scale_by_sm3(Number b1, Number b2, Number eps) {
  return transformation_of<Sm3Rule>(std::move(b1), std::move(b2), std::move(eps));
}

}  // namespace plait::optim
