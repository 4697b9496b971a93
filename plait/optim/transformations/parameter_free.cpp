#include "plait/optim/transformations/parameter_free.h"

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/inside/transformation_rule.h"

namespace plait::optim {
namespace {

Tensor wide_dot(const Tensors& a, const Tensors& b) { return as_f64(dot_of(a, b)); }
Tensor wide_norm(const Tensors& a) { return as_f64(squared_norm(a)); }

Tensor sum_of_magnitudes(const Tensors& tensors) {
  Tensor total = f64_of(0);
  for (const auto& [path, value] : tensors) total = total + as_f64(sum(absolute(value)));
  return total;
}

Tensors difference(const Tensors& a, const Tensors& b) {
  return map_tensors("optim", a, b, [](const Tensor& x, const Tensor& y) { return x - y; });
}

// An f64 number in the dtype of a tensor.
Tensor in(const Tensor& like, const Tensor& number) {
  return astype(number, plait::real_dtype(like.dtype()));
}

Tensors squares_of(const Tensors& tensors) {
  return map_tensors(tensors, [](const Tensor& x) { return x * x; });
}

// decay · old + (1 - decay) · factor · new.
Tensors moment(const Tensor& decay, const Tensors& old, const Tensors& now, const Tensor& factor) {
  const Tensor rest = (1. - decay) * factor;
  return cast_like(map_tensors("optim", old, now,
                               [&](const Tensor& a, const Tensor& b) {
                                 return in(b, decay) * a + in(b, rest) * b;
                               }),
                   old);
}
Tensors moment(const Tensor& decay, const Tensors& old, const Tensors& now) {
  return moment(decay, old, now, f64_of(1));
}

// The learned numbers are f64[] in the state, next to trees like the parameters.
struct LearningRule : TransformationRule {
  using TransformationRule::TransformationRule;
  State begun(const Tensors& parameters, std::initializer_list<const char*> trees) const {
    State made;
    begin(made);
    for (const char* const each : trees) made.kept[each] = zeros_of(parameters);
    return made;
  }
  static void count(State& state) { state.values["count"] = state.values["count"] + 1; }
  static Tensor step_of(const State& state) { return as_f64(state.values.at("count") + 1); }
  // Adam's step size without its bias.
  static Tensor unbiased(const Tensors& n, const Tensor& t) {
    return sqrt(1. - power(n.at("beta2"), t)) / (1. - power(n.at("beta1"), t));
  }
};

// -decay · parameter - step · mean / (√squares + eps), of each.
Tensors adam_steps(const State& state, const Tensors& parameters, const Tensor& decay,
                   const Tensor& step, const Tensor& eps) {
  const Tensors directions =
      map_tensors("optim", state.kept.at("exp_avg"), state.kept.at("exp_avg_sq"),
                  [&](const Tensor& mean, const Tensor& squares) {
                    return in(mean, step) * mean / (sqrt(squares) + in(mean, eps));
                  });
  return map_tensors(
      "optim", directions, parameters,
      [&](const Tensor& direction, const Tensor& at) { return -in(at, decay) * at - direction; });
}

struct ProdigyRule final : LearningRule {
  ProdigyRule(Number learning_rate, const ProdigyOptions& options)
      : LearningRule("optim::prodigy",
                     {any_number("learning_rate", std::move(learning_rate)),
                      decay_number("beta1", options.beta1), decay_number("beta2", options.beta2),
                      positive("eps", options.eps), positive("estim_lr0", options.estim_lr0),
                      positive("estim_lr_coef", options.estim_lr_coef),
                      any_number("weight_decay", options.weight_decay)}),
        safeguards(options.safeguard_warmup) {
    if (options.beta3) numbers.push_back(any_number("beta3", *options.beta3));
  }
  State init(const Tensors& parameters) const override {
    State made = begun(parameters, {"exp_avg", "exp_avg_sq", "grad_sum"});
    made.kept["params0"] = copies_of(parameters);
    made.values["estim_lr"] = made.numbers.at("estim_lr0") * f64_of(1);
    made.values["numerator_weighted"] = f64_of(0);
    return made;
  }
  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions&) const override {
    expect_parameters(parameters);
    const Tensors n = numbers_at(state);
    const Tensor beta3 = n.contains("beta3") ? n.at("beta3") : sqrt(n.at("beta2"));
    const Tensor rate = state.values.at("estim_lr");
    const Tensor step = rate * n.at("learning_rate") * unbiased(n, step_of(state));
    const Tensor gain = wide_dot(updates, difference(state.kept.at("params0"), parameters));
    state.kept["exp_avg"] = moment(n.at("beta1"), state.kept["exp_avg"], updates, rate);
    state.kept["exp_avg_sq"] =
        moment(n.at("beta2"), state.kept["exp_avg_sq"], squares_of(updates), rate * rate);
    const Tensor factor = (safeguards ? rate : step) * rate / n.at("estim_lr0");
    const Tensors total =
        cast_like(map_tensors(name, state.kept["grad_sum"], updates,
                              [&](const Tensor& old, const Tensor& now) {
                                return in(now, beta3) * old + in(now, factor) * now;
                              }),
                  state.kept["grad_sum"]);
    state.kept["grad_sum"] = total;
    const Tensor numerator =
        beta3 * state.values["numerator_weighted"] + rate / n.at("estim_lr0") * step * gain;
    const Tensor next = maximum(rate, n.at("estim_lr_coef") * numerator / sum_of_magnitudes(total));
    state.values["estim_lr"] = next;
    state.values["numerator_weighted"] = numerator;
    count(state);
    return adam_steps(state, parameters, n.at("weight_decay") * step, step, next * n.at("eps"));
  }
  bool safeguards;
};

struct DadaptRule final : LearningRule {
  DadaptRule(Number learning_rate, const DadaptAdamwOptions& options)
      : LearningRule("optim::dadapt_adamw",
                     {any_number("learning_rate", std::move(learning_rate)),
                      decay_number("beta1", options.beta1), decay_number("beta2", options.beta2),
                      positive("eps", options.eps), positive("estim_lr0", options.estim_lr0),
                      any_number("weight_decay", options.weight_decay)}) {}
  State init(const Tensors& parameters) const override {
    State made = begun(parameters, {"exp_avg", "exp_avg_sq", "grad_sum"});
    made.values["estim_lr"] = made.numbers.at("estim_lr0") * f64_of(1);
    made.values["numerator_weighted"] = f64_of(0);
    return made;
  }
  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions&) const override {
    expect_parameters(parameters);
    const Tensors n = numbers_at(state);
    const Tensor root = sqrt(n.at("beta2")), rate = state.values.at("estim_lr");
    const Tensor step = rate * n.at("learning_rate") * unbiased(n, step_of(state));
    const Tensors directions =
        map_tensors(name, state.kept["grad_sum"], state.kept["exp_avg_sq"],
                    [&](const Tensor& total, const Tensor& squares) {
                      return total / (sqrt(squares) + in(total, n.at("eps")));
                    });
    const Tensor gain = wide_dot(updates, directions);
    state.kept["exp_avg"] = moment(n.at("beta1"), state.kept["exp_avg"], updates, step);
    state.kept["exp_avg_sq"] = moment(n.at("beta2"), state.kept["exp_avg_sq"], squares_of(updates));
    state.kept["grad_sum"] = moment(root, state.kept["grad_sum"], updates, step);
    const Tensor numerator = root * state.values["numerator_weighted"] + (1. - root) * step * gain;
    state.values["estim_lr"] =
        maximum(rate, numerator / ((1. - root) * sum_of_magnitudes(state.kept["grad_sum"])));
    state.values["numerator_weighted"] = numerator;
    count(state);
    return adam_steps(state, parameters, n.at("weight_decay") * step, f64_of(1), n.at("eps"));
  }
};

Tensors scaled_by_rate(const Tensors& updates, const Tensor& rate) {
  return map_tensors(updates, [&](const Tensor& each) { return in(each, rate) * each; });
}

struct DogRule final : LearningRule {
  explicit DogRule(const DogOptions& options)
      : LearningRule("optim::dog",
                     {positive("init_value", options.init_value), positive("eps", options.eps)}),
        kind(options.init_step) {}
  State init(const Tensors& parameters) const override {
    State made = begun(parameters, {});
    made.kept["init_params"] = copies_of(parameters);
    const Tensor first = made.numbers.at("init_value");
    made.values["sum_sq_norm_grads"] = f64_of(0);
    made.values["max_dist"] = kind == DogStep::distance ? first * f64_of(1)
                              : kind == DogStep::heuristic
                                  ? first * (1. + sqrt(wide_norm(parameters)))
                                  : f64_of(0);
    return made;
  }
  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions&) const override {
    expect_parameters(parameters);
    const Tensors n = numbers_at(state);
    const Tensor from_start = sqrt(wide_norm(difference(state.kept.at("init_params"), parameters)));
    const Tensor distance = maximum(state.values["max_dist"], from_start);
    const Tensor total = state.values["sum_sq_norm_grads"] + wide_norm(updates);
    Tensor rate = distance / sqrt(total + n.at("eps"));
    if (kind == DogStep::learning_rate) {
      rate = where(state.values.at("count") == 0, n.at("init_value"), rate);
    }
    state.values["max_dist"] = distance;
    state.values["sum_sq_norm_grads"] = total;
    count(state);
    return scaled_by_rate(updates, rate);
  }
  DogStep kind;
};

struct DowgRule final : LearningRule {
  explicit DowgRule(const DowgOptions& options)
      : LearningRule("optim::dowg", {positive("eps", options.eps),
                                     positive("init_estim_sq_dist",
                                              options.init_estim_sq_dist.value_or(options.eps))}) {}
  State init(const Tensors& parameters) const override {
    State made = begun(parameters, {});
    made.kept["init_params"] = copies_of(parameters);
    made.values["weighted_sq_norm_grads"] = f64_of(0);
    made.values["estim_sq_dist"] = made.numbers.at("init_estim_sq_dist") * f64_of(1);
    return made;
  }
  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions&) const override {
    expect_parameters(parameters);
    const Tensors n = numbers_at(state);
    const Tensor from_start = wide_norm(difference(state.kept.at("init_params"), parameters));
    const Tensor distance = maximum(state.values["estim_sq_dist"], from_start);
    const Tensor total = distance * wide_norm(updates) + state.values["weighted_sq_norm_grads"];
    state.values["estim_sq_dist"] = distance;
    state.values["weighted_sq_norm_grads"] = total;
    count(state);
    return scaled_by_rate(updates, distance / (sqrt(total) + n.at("eps")));
  }
};

struct MomoBase : LearningRule {
  MomoBase(std::string rule, std::vector<NamedNumber> given, bool adapts)
      : LearningRule(std::move(rule), std::move(given)), adapt_lower_bound(adapts) {}

  State begun_with(const Tensors& parameters, std::initializer_list<const char*> trees) const {
    State made = begun(parameters, trees);
    made.values["barf"] = f64_of(0);
    made.values["gamma"] = f64_of(0);
    made.values["lb"] = made.numbers.at("lower_bound") * f64_of(1);
    return made;
  }
  // Averages of the loss, and of the products of gradients and parameters.
  void follow(const Tensor& beta, const Tensor& value, const Tensors& updates,
              const Tensors& parameters, State& state) const {
    Tensor &barf = state.values["barf"], &gamma = state.values["gamma"];
    barf = beta * barf + (1. - beta) * value;
    gamma = beta * gamma + (1. - beta) * wide_dot(updates, parameters);
  }
  // The rate; sets the lower bound of the next step. `bias` is that of the averages.
  Tensor rate(const Tensors& n, State& state, const Tensor& product, const Tensor& norm,
              const Tensor& bias) const {
    const Tensor &barf = state.values.at("barf"), &gamma = state.values.at("gamma");
    Tensor bound = state.values.at("lb");
    const Tensor least = n.at("lower_bound");
    const Tensor decayed = 1. + n.at("learning_rate") * n.at("weight_decay");
    if (adapt_lower_bound) {
      const Tensor cap = decayed * (barf - gamma) + product;
      bound =
          where(cap < decayed * bias * bound, maximum(cap / (2. * bias * decayed), least), bound);
    }
    const Tensor wanted = maximum(decayed * (barf - bias * bound - gamma) + product, 0.) / norm;
    const Tensor is_flat = norm <= std::numeric_limits<double>::epsilon();
    const Tensor made = minimum(n.at("learning_rate") / bias, where(is_flat, f64_of(0), wanted));
    if (adapt_lower_bound) {
      bound = maximum((barf + product - gamma - 0.5 * made * norm) / bias, least);
    }
    state.values["lb"] = bound;
    return made;
  }
  static Tensor decay_of(const Tensors& n) {
    const Tensor decayed = n.at("learning_rate") * n.at("weight_decay");
    return decayed / (1. + decayed);
  }
  static Tensors steps(const Tensors& directions, const Tensors& parameters, const Tensor& decay,
                       const Tensor& rate) {
    return map_tensors("optim", directions, parameters,
                       [&](const Tensor& direction, const Tensor& at) {
                         return -in(at, decay) * at - in(at, rate) * direction;
                       });
  }
  bool adapt_lower_bound;
};

struct MomoRule final : MomoBase {
  MomoRule(Number learning_rate, const MomoOptions& options)
      : MomoBase(
            "optim::momo",
            {any_number("learning_rate", std::move(learning_rate)),
             decay_number("beta", options.beta), any_number("lower_bound", options.lower_bound),
             any_number("weight_decay", options.weight_decay)},
            options.adapt_lower_bound) {}
  State init(const Tensors& parameters) const override {
    return begun_with(parameters, {"exp_avg"});
  }
  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions& options) const override {
    expect_parameters(parameters);
    const Tensor value = expect_value(name, options);
    const Tensors n = numbers_at(state);
    const Tensor beta = where(state.values.at("count") == 0, f64_of(0), n.at("beta"));
    follow(beta, value, updates, parameters, state);
    const Tensors mean = moment(beta, state.kept.at("exp_avg"), updates);
    const Tensor found = rate(n, state, wide_dot(mean, parameters), wide_norm(mean), f64_of(1));
    state.kept["exp_avg"] = mean;
    count(state);
    return steps(mean, parameters, decay_of(n), found);
  }
};

struct MomoAdamRule final : MomoBase {
  MomoAdamRule(Number learning_rate, const MomoAdamOptions& options)
      : MomoBase("optim::momo_adam",
                 {any_number("learning_rate", std::move(learning_rate)),
                  decay_number("b1", options.b1), decay_number("b2", options.b2),
                  positive("eps", options.eps), any_number("lower_bound", options.lower_bound),
                  any_number("weight_decay", options.weight_decay)},
                 options.adapt_lower_bound) {}
  State init(const Tensors& parameters) const override {
    return begun_with(parameters, {"exp_avg", "exp_avg_sq"});
  }
  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions& options) const override {
    expect_parameters(parameters);
    const Tensor value = expect_value(name, options), t = step_of(state);
    const Tensors n = numbers_at(state);
    follow(n.at("b1"), value, updates, parameters, state);
    const Tensors mean = moment(n.at("b1"), state.kept.at("exp_avg"), updates);
    const Tensors squares = moment(n.at("b2"), state.kept.at("exp_avg_sq"), squares_of(updates));
    const Tensor bias = 1. - power(n.at("b2"), t);
    const Tensors directions =
        map_tensors(name, mean, squares, [&](const Tensor& each, const Tensor& square) {
          return each / (in(each, n.at("eps")) + sqrt(square / in(each, bias)));
        });
    const Tensor found = rate(n, state, wide_dot(mean, parameters), wide_dot(mean, directions),
                              1. - power(n.at("b1"), t));
    state.kept["exp_avg"] = mean;
    state.kept["exp_avg_sq"] = squares;
    count(state);
    return steps(directions, parameters, decay_of(n), found);
  }
};

Transformation decayed_by(const std::optional<Number>& weight_decay,
                          const std::optional<Mask>& mask) {
  return weight_decay ? add_decayed_weights(*weight_decay, mask) : identity();
}

}  // namespace

Transformation prodigy(Number learning_rate, const ProdigyOptions& options) {
  return transformation_of<ProdigyRule>(std::move(learning_rate), options);
}
Transformation dadapt_adamw(Number learning_rate, const DadaptAdamwOptions& options) {
  return transformation_of<DadaptRule>(std::move(learning_rate), options);
}
Transformation dog(Number learning_rate, const DogOptions& options) {
  return chain(decayed_by(options.weight_decay, options.mask), transformation_of<DogRule>(options),
               scale_by_learning_rate(std::move(learning_rate)));
}
Transformation dowg(Number learning_rate, const DowgOptions& options) {
  return chain(decayed_by(options.weight_decay, options.mask), transformation_of<DowgRule>(options),
               scale_by_learning_rate(std::move(learning_rate)));
}
Transformation momo(Number learning_rate, const MomoOptions& options) {
  return transformation_of<MomoRule>(std::move(learning_rate), options);
}
Transformation momo_adam(Number learning_rate, const MomoAdamOptions& options) {
  return transformation_of<MomoAdamRule>(std::move(learning_rate), options);
}

}  // namespace plait::optim
