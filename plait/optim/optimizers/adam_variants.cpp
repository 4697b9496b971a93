#include "plait/optim/optimizers/adam_variants.h"

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/inside/adam_moments.h"

namespace plait::optim {
namespace {

using Names = OptimizerRule::Names;

// ---- Adamax

Names adamax_states(const WeightNumbers&, const Tensor&) { return {"exp_avg", "exp_inf"}; }
void add_step_size(Tensors& n, const Tensor& steps) {
  add_moments(n, steps);
  n["step_size"] = n["lr"] / n["first_bias"];
}
Tensor adamax_formula(const WeightNumbers& n, const Tensor& value, const Tensor& given,
                      std::span<Tensor> states) {
  const Tensor gradient = decayed(n, value, given);
  states[0] = states[0] + n.rest("beta1") * (gradient - states[0]);
  states[1] = maximum(n["beta2"] * states[1], absolute(gradient) + n["eps"]);
  return value - n["step_size"] * states[0] / states[1];
}
const OptimizerRule kAdamax{.name = "optim::Adamax",
                            .states = adamax_states,
                            .at_step = add_step_size,
                            .formula = adamax_formula};

// ---- NAdam

Names nadam_states(const WeightNumbers&, const Tensor&) {
  return {"exp_avg", "exp_avg_sq", "mu_product"};
}
Tensor nadam_first(const std::string& state, const WeightNumbers&, const Tensor& parameter) {
  return state == "mu_product" ? f64_of(1) : zeros_like(parameter);
}
void nadam_at_step(Tensors& n, const Tensor& steps) {
  add_moments(n, steps);
  const auto momentum = [&](const Tensor& at) {
    return n["beta1"] * (1. - 0.5 * power(0.96, at * n["momentum_decay"]));
  };
  n["mu"] = momentum(steps);
  n["next_mu"] = momentum(steps + 1.);
}
Tensor nadam_formula(const WeightNumbers& n, const Tensor& given, const Tensor& given_gradient,
                     std::span<Tensor> states) {
  const auto [value, gradient] = with_decay(n, given, given_gradient);
  average(n, gradient, states[0], states[1]);
  const Tensor &rate = n.exact("lr"), &mu = n.exact("mu"), &next_mu = n.exact("next_mu");
  const Tensor product = states[2] * mu;
  states[2] = product;
  const Tensor of_gradient = astype(rate * (1. - mu) / (1. - product), value.dtype());
  const Tensor of_mean = astype(rate * next_mu / (1. - product * next_mu), value.dtype());
  return value - (of_gradient * gradient + of_mean * states[0]) /
                     (sqrt(states[1]) * n["square_scale"] + n["eps"]);
}
const OptimizerRule kNadam{.name = "optim::NAdam",
                           .scalar_states = {"mu_product"},
                           .states = nadam_states,
                           .first = nadam_first,
                           .at_step = nadam_at_step,
                           .formula = nadam_formula};

// ---- RAdam

void radam_at_step(Tensors& n, const Tensor& steps) {
  add_step_size(n, steps);
  const Tensor last = 2. / (1. - n["beta2"]) - 1.;
  const Tensor length = last - 2. * steps * power(n["beta2"], steps) / n["second_bias"];
  n["is_corrected"] = as_f64(length > 5.);
  const Tensor there = where(length > 5., length, f64_of(6));
  n["correction"] = sqrt((there - 4.) * (there - 2.) * last / ((last - 4.) * (last - 2.) * there) *
                         n["second_bias"]);
}
Tensor radam_formula(const WeightNumbers& n, const Tensor& given, const Tensor& given_gradient,
                     std::span<Tensor> states) {
  const auto [value, gradient] = with_decay(n, given, given_gradient);
  average(n, gradient, states[0], states[1]);
  const Tensor factor = where(n.exact("is_corrected") > 0.,
                              n["correction"] / (sqrt(states[1]) + n["eps"]), ones_like(states[1]));
  return value - n["step_size"] * states[0] * factor;
}
const OptimizerRule kRadam{.name = "optim::RAdam",
                           .states = adam_states,
                           .at_step = radam_at_step,
                           .formula = radam_formula};

// ---- SparseAdam

void sparse_at_step(Tensors& n, const Tensor& steps) {
  add_moments(n, steps);
  n["step_size"] = n["lr"] * sqrt(n["second_bias"]) / n["first_bias"];
}
Tensor sparse_formula(const WeightNumbers& n, const Tensor& value, const Tensor& gradient,
                      std::span<Tensor> states) {
  average(n, gradient, states[0], states[1]);
  return value - n["step_size"] * states[0] / (sqrt(states[1]) + n["eps"]);
}
const OptimizerRule kSparse{.name = "optim::SparseAdam",
                            .states = adam_states,
                            .at_step = sparse_at_step,
                            .formula = sparse_formula};

// ---- Steps in proportion to the norm of the parameter

// coefficient · |value| / (|update| + eps), and 1 where a norm is 0.
Tensor ratio(const Tensor& value, const Tensor& update, const Operand& coefficient,
             const Operand& eps) {
  const Tensor ours = sqrt(sum_of_squares(value)), others = sqrt(sum_of_squares(update));
  const Tensor is_zero = logical_or(ours == 0., others == 0.), one = ones_like(ours);
  return where(is_zero, one, multiply(coefficient, ours) / where(is_zero, one, add(others, eps)));
}

Tensor lamb_formula(const WeightNumbers& n, const Tensor& value, const Tensor& gradient,
                    std::span<Tensor> states) {
  average(n, gradient, states[0], states[1]);
  const Tensor adam = states[0] / n["first_bias"] / (sqrt(states[1] / n["second_bias"]) + n["eps"]);
  const Tensor update = decayed(n, value, adam);
  return value - n["lr"] * ratio(value, update, 1., 0.) * update;
}
const OptimizerRule kLamb{
    .name = "optim::LAMB", .states = adam_states, .at_step = add_moments, .formula = lamb_formula};

Names lars_states(const WeightNumbers&, const Tensor&) { return {"momentum_buffer"}; }
Tensor lars_formula(const WeightNumbers& n, const Tensor& value, const Tensor& gradient,
                    std::span<Tensor> states) {
  const Tensor direction = decayed(n, value, gradient);
  const Tensor update =
      n["lr"] * ratio(value, direction, n["trust_coefficient"], n["eps"]) * direction;
  states[0] = n["momentum"] * states[0] + update;
  return value - (n.is("nesterov") ? update + n["momentum"] * states[0] : states[0]);
}
const OptimizerRule kLars{.name = "optim::LARS", .states = lars_states, .formula = lars_formula};

}  // namespace

OptimizerSettings settings_of(const AdamaxOptions& options) {
  return {.rule = {&kAdamax},
          .numbers = decayed_adam_numbers(options),
          .options = {{"maximize", options.maximize}},
          .groups = options.groups};
}

OptimizerSettings settings_of(const NAdamOptions& options) {
  auto numbers = decayed_adam_numbers(options);
  numbers.push_back(positive("momentum_decay", options.momentum_decay));
  return {.rule = {&kNadam},
          .numbers = std::move(numbers),
          .options = {{"maximize", options.maximize},
                      {"decoupled_weight_decay", options.decoupled_weight_decay}},
          .groups = options.groups};
}

OptimizerSettings settings_of(const RAdamOptions& options) {
  return {.rule = {&kRadam},
          .numbers = decayed_adam_numbers(options),
          .options = {{"maximize", options.maximize},
                      {"decoupled_weight_decay", options.decoupled_weight_decay}},
          .groups = options.groups};
}

OptimizerSettings settings_of(const SparseAdamOptions& options) {
  return {.rule = {&kSparse},
          .numbers = adam_numbers(options),
          .options = {{"maximize", options.maximize}},
          .groups = options.groups};
}

OptimizerSettings settings_of(const LAMBOptions& options) {
  return {.rule = {&kLamb},
          .numbers = decayed_adam_numbers(options),
          .options = {{"maximize", options.maximize}},
          .groups = options.groups};
}

OptimizerSettings settings_of(const LARSOptions& options) {
  return {.rule = {&kLars},
          .numbers = {positive("lr", options.lr), positive("momentum", options.momentum),
                      positive("weight_decay", options.weight_decay),
                      positive("trust_coefficient", options.trust_coefficient),
                      positive("eps", options.eps)},
          .options = {{"nesterov", options.nesterov}, {"maximize", options.maximize}},
          .groups = options.groups};
}

}  // namespace plait::optim
