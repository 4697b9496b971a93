#include "plait/optim/transformations/moments.h"

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/optim/inside/transformation_rule.h"

namespace plait::optim {
namespace {

using Kept = std::span<Tensor>;
using Begin = std::function<std::vector<Tensor>(const Tensor&, const StepNumbers&)>;

// Adds the factors by which moments that began at zero are too small, by the names of their decays.
void add_biases(Tensors& n, const Tensor& t, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    n[std::string(name) + " bias"] = 1. - power(n.at(name), t);
  }
}

auto biases(std::initializer_list<const char*> names) {
  return [names = std::vector(names)](Tensors& n, const Tensor& t, const Tensors&) {
    for (const char* const name : names) add_biases(n, t, {name});
  };
}

void add_adam_biases(Tensors& n, const Tensor& t, const Tensors&) {
  add_biases(n, t, {"b1", "b2"});
  n["next b1 bias"] = 1. - power(n["b1"], t + 1.);
}

// Zeros, the first of which are in another dtype.
Begin zeros_with(std::optional<DType> dtype, size_t count, size_t of_dtype = 1) {
  return [=](const Tensor& parameter, const StepNumbers&) {
    std::vector<Tensor> made;
    for (size_t i = 0; i < count; ++i) {
      const DType own = i < of_dtype ? dtype.value_or(parameter.dtype()) : parameter.dtype();
      made.push_back(zeros_like(astype(parameter, own)));
    }
    return made;
  };
}

// The first moment without its bias; with Nesterov's, as it will be.
Tensor mu_hat(const StepNumbers& n, bool nesterov, const Tensor& mu, const Tensor& update) {
  if (!nesterov) return mu / n["b1 bias"];
  return n.mix("b1", mu / n["next b1 bias"], update / n["b1 bias"]);
}

Tensor root(const StepNumbers& n, const Tensor& nu) {
  return sqrt(nu / n["b2 bias"] + n["eps_root"]) + n["eps"];
}

template <class Options>
std::vector<NamedNumber> moment_numbers(const Options& options) {
  return {decay_number("b1", options.b1), decay_number("b2", options.b2),
          positive("eps", options.eps), positive("eps_root", options.eps_root)};
}
std::vector<NamedNumber> with(std::vector<NamedNumber> numbers,
                              std::initializer_list<NamedNumber> more) {
  numbers.insert(numbers.end(), more);
  return numbers;
}

// Both moments after an update.
void average(const StepNumbers& n, const Tensor& update, Kept kept) {
  kept[0] = n.mix("b1", kept[0], update);
  kept[1] = n.mix("b2", kept[1], squared(update));
}

}  // namespace

Transformation scale_by_adam(const ScaleByAdamOptions& options) {
  return per_parameter(
      {.name = "optim::scale_by_adam",
       .numbers = moment_numbers(options),
       .kept = {"mu", "nu"},
       .begin = zeros_with(options.mu_dtype, 2),
       .at = add_adam_biases,
       .one = [nesterov = options.nesterov](const StepNumbers& n, const Tensor& update,
                                            const Tensor&, Kept kept) {
         average(n, update, kept);
         return mu_hat(n, nesterov, kept[0], update) / root(n, kept[1]);
       }});
}

Transformation scale_by_amsgrad(const ScaleByAmsgradOptions& options) {
  return per_parameter(
      {.name = "optim::scale_by_amsgrad",
       .numbers = moment_numbers(options),
       .kept = {"mu", "nu", "nu_max"},
       .begin = zeros_with(options.mu_dtype, 3),
       .at = biases({"b1", "b2"}),
       .one = [of_mu = options.bias_correction_mu, of_nu = options.bias_correction_nu](
                  const StepNumbers& n, const Tensor& update, const Tensor&, Kept kept) {
         average(n, update, kept);
         kept[2] = maximum(kept[2], of_nu ? kept[1] / n["b2 bias"] : kept[1]);
         return (of_mu ? kept[0] / n["b1 bias"] : kept[0]) /
                (sqrt(kept[2] + n["eps_root"]) + n["eps"]);
       }});
}

Transformation scale_by_adamax(Number b1, Number b2, Number eps) {
  return per_parameter(
      {.name = "optim::scale_by_adamax",
       .numbers = {decay_number("b1", std::move(b1)), decay_number("b2", std::move(b2)),
                   positive("eps", std::move(eps))},
       .kept = {"mu", "nu"},
       .at = biases({"b1"}),
       .one = [](const StepNumbers& n, const Tensor& update, const Tensor&, Kept kept) {
         kept[0] = n.mix("b1", kept[0], update);
         kept[1] = maximum(absolute(update) + n["eps"], n["b2"] * kept[1]);
         return kept[0] / n["b1 bias"] / kept[1];
       }});
}

Transformation scale_by_belief(const ScaleByBeliefOptions& options) {
  return per_parameter(
      {.name = "optim::scale_by_belief",
       .numbers = moment_numbers(options),
       .kept = {"mu", "nu"},
       .at = add_adam_biases,
       .one = [nesterov = options.nesterov](const StepNumbers& n, const Tensor& update,
                                            const Tensor&, Kept kept) {
         kept[0] = n.mix("b1", kept[0], update);
         kept[1] = n.mix("b2", kept[1], squared(update - kept[0])) + n["eps_root"];
         return mu_hat(n, nesterov, kept[0], update) / (sqrt(kept[1] / n["b2 bias"]) + n["eps"]);
       }});
}

Transformation scale_by_acprop(Number b1, Number b2, Number eps, Number eps_root) {
  return per_parameter(
      {.name = "optim::scale_by_acprop",
       .numbers = {decay_number("b1", std::move(b1)), decay_number("b2", std::move(b2)),
                   positive("eps", std::move(eps)), positive("eps_root", std::move(eps_root))},
       .kept = {"mu", "nu"},
       .at =
           [](Tensors& n, const Tensor& t, const Tensors&) {
             const Tensor is_first = t == 1.;
             n["is_first"] = as_f64(is_first);
             n["past bias"] = 1. - power(n["b2"], where(is_first, t, t - 1.));
           },
       .one =
           [](const StepNumbers& n, const Tensor& update, const Tensor&, Kept kept) {
             const Tensor past = kept[1] / n["past bias"];
             const Tensor before = where(n.exact("is_first") > 0., ones_like(past), past);
             kept[1] = n.mix("b2", kept[1], squared(update - kept[0])) + n["eps_root"];
             kept[0] = n.mix("b1", kept[0], update);
             return update / (sqrt(before) + n["eps"]);
           }});
}

Transformation scale_by_yogi(const ScaleByYogiOptions& options) {
  return per_parameter(
      {.name = "optim::scale_by_yogi",
       .numbers = with(moment_numbers(options), {any_number("initial_accumulator_value",
                                                            options.initial_accumulator_value)}),
       .kept = {"mu", "nu"},
       .begin =
           [](const Tensor& parameter, const StepNumbers& n) {
             const Tensor& value = n.exact("initial_accumulator_value");
             return std::vector{filled(parameter, value), filled(parameter, value)};
           },
       .at = biases({"b1", "b2"}),
       .one =
           [](const StepNumbers& n, const Tensor& update, const Tensor&, Kept kept) {
             const Tensor squares = squared(update);
             kept[0] = n.mix("b1", kept[0], update);
             kept[1] = kept[1] - n.rest("b2") * sign(kept[1] - squares) * squares;
             return kept[0] / n["b1 bias"] / root(n, kept[1]);
           }});
}

Transformation scale_by_radam(const ScaleByRadamOptions& options) {
  return per_parameter(
      {.name = "optim::scale_by_radam",
       .numbers = with(moment_numbers(options), {positive("threshold", options.threshold)}),
       .kept = {"mu", "nu"},
       .at =
           [](Tensors& n, const Tensor& t, const Tensors& updates) {
             add_adam_biases(n, t, updates);
             const Tensor most = 2. / (1. - n["b2"]) - 1., decayed = power(n["b2"], t);
             const Tensor length = most - 2. * t * decayed / (1. - decayed);
             n["factor"] =
                 sqrt((length - 4.) * (length - 2.) * most / ((most - 4.) * (most - 2.) * length));
             n["is_known"] = as_f64(length >= n["threshold"]);
           },
       .one =
           [nesterov = options.nesterov](const StepNumbers& n, const Tensor& update, const Tensor&,
                                         Kept kept) {
             average(n, update, kept);
             const Tensor direction = mu_hat(n, nesterov, kept[0], update);
             return where(n.exact("is_known") > 0., n["factor"] * direction / root(n, kept[1]),
                          direction);
           }});
}

Transformation scale_by_lion(const ScaleByLionOptions& options) {
  return per_parameter({.name = "optim::scale_by_lion",
                        .numbers = {decay_number("b1", options.b1), decay_number("b2", options.b2),
                                    positive("smooth_beta", options.smooth_beta)},
                        .kept = {"mu"},
                        .begin = zeros_with(options.mu_dtype, 1),
                        .one = [mode = options.mode](const StepNumbers& n, const Tensor& update,
                                                     const Tensor&, Kept kept) {
                          const Tensor x = n.mix("b1", kept[0], update);
                          kept[0] = n.mix("b2", kept[0], update);
                          if (mode == LionMode::smooth) return tanh(n["smooth_beta"] * x);
                          return mode == LionMode::hard ? sign(x)
                                                        : where(absolute(x) < 1., x, sign(x));
                        }});
}

Transformation scale_by_adan(const ScaleByAdanOptions& options) {
  return per_parameter(
      {.name = "optim::scale_by_adan",
       .numbers = with(moment_numbers(options), {decay_number("b3", options.b3)}),
       .kept = {"m", "v", "n", "g"},
       .at =
           [](Tensors& n, const Tensor& t, const Tensors&) {
             add_biases(n, t, {"b1", "b2", "b3"});
             n["is_later"] = as_f64(t > 1.);
           },
       .one =
           [](const StepNumbers& n, const Tensor& update, const Tensor&, Kept kept) {
             const Tensor difference = update - kept[3];
             const Tensor change =
                 where(n.exact("is_later") > 0., difference, zeros_like(difference));
             kept[0] = n.mix("b1", kept[0], update);
             kept[1] = n.mix("b2", kept[1], change);
             kept[2] = n.mix("b3", kept[2], squared(update + n.rest("b2") * change));
             kept[3] = update * ones_like(update);
             return (kept[0] / n["b1 bias"] + n.rest("b2") * (kept[1] / n["b2 bias"])) /
                    (sqrt(kept[2] / n["b3 bias"] + n["eps_root"]) + n["eps"]);
           }});
}

Transformation scale_by_ademamix(const ScaleByAdemamixOptions& options) {
  return per_parameter(
      {.name = "optim::scale_by_ademamix",
       .numbers = with(moment_numbers(options),
                       {decay_number("b3", options.b3), any_number("alpha", options.alpha)}),
       .kept = {"m1", "m2", "nu"},
       .begin = zeros_with(options.mu_dtype, 3, 3),
       .at = biases({"b1", "b2"}),
       .one = [](const StepNumbers& n, const Tensor& update, const Tensor&, Kept kept) {
         kept[0] = n.mix("b1", kept[0], update);
         kept[1] = n.mix("b3", kept[1], update);
         kept[2] = n.mix("b2", kept[2], squared(update));
         return (kept[0] / n["b1 bias"] + n["alpha"] * kept[1]) / root(n, kept[2]);
       }});
}

Transformation scale_by_simplified_ademamix(const ScaleBySimplifiedAdemamixOptions& options) {
  return per_parameter(
      {.name = "optim::scale_by_simplified_ademamix",
       .numbers = with(moment_numbers(options), {any_number("alpha", options.alpha)}),
       .kept = {"m", "n"},
       .at = biases({"b2"}),
       .one = [](const StepNumbers& n, const Tensor& update, const Tensor&, Kept kept) {
         kept[0] = update + n["b1"] * kept[0];
         kept[1] = n.mix("b2", kept[1], update * update);
         return (kept[0] + n["alpha"] * update) / root(n, kept[1]);
       }});
}

Transformation scale_by_adopt(const ScaleByAdoptOptions& options) {
  std::vector<NamedNumber> numbers{decay_number("b1", options.b1), decay_number("b2", options.b2),
                                   positive("eps", options.eps)};
  if (options.use_clipping) {
    const auto fourth_root = [](const Schedule&, const Tensor& steps) {
      return power(steps, 0.25);
    };
    numbers.push_back(
        any_number("bound", options.clip_value_fn.value_or(Schedule(fourth_root, {}))));
  }
  return per_parameter(
      {.name = "optim::scale_by_adopt",
       .numbers = std::move(numbers),
       .kept = {"mu", "nu"},
       .begin = zeros_with(options.mu_dtype, 2),
       .at =
           [](Tensors& n, const Tensor& t, const Tensors&) {
             const Tensor is_later = t > 1.;
             n["first"] = where(is_later, n["b1"], f64_of(1));
             n["second"] = where(is_later, n["b2"], f64_of(0));
           },
       .one =
           [clips = options.use_clipping, nesterov = options.nesterov](
               const StepNumbers& n, const Tensor& update, const Tensor&, Kept kept) {
             Tensor scaled = update / maximum(sqrt(kept[1]), n["eps"]);
             if (clips) scaled = clip(scaled, -n["bound"], n["bound"]);
             kept[0] = n.mix("first", kept[0], scaled);
             kept[1] = n.mix("second", kept[1], squared(update));
             return nesterov ? n.mix("first", kept[0], scaled) : kept[0];
           }});
}

}  // namespace plait::optim
