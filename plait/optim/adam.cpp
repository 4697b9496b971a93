#include "plait/optim/adam.h"

#include "plait/ops/elementwise/elementwise.h"
#include "plait/optim/inside/adam_moments.h"

namespace plait::optim {
namespace {

OptimizerRule::Names states_with_maximum(const WeightNumbers& n, const Tensor&) {
  if (n.is("amsgrad")) return {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
  return {"exp_avg", "exp_avg_sq"};
}

void adam_at_step(Tensors& n, const Tensor& steps) {
  add_moments(n, steps);
  n["step_size"] = n["lr"] / n["first_bias"];
}

Tensor adam_formula(const WeightNumbers& n, const Tensor& given, const Tensor& given_gradient,
                    std::span<Tensor> states) {
  const auto [value, gradient] = with_decay(n, given, given_gradient);
  average(n, gradient, states[0], states[1]);
  if (states.size() == 3) states[2] = maximum(states[2], states[1]);
  const Tensor scale = sqrt(states.back()) * n["square_scale"] + n["eps"];
  return value - n["step_size"] * states[0] / scale;
}

OptimizerRule rule_named(std::string_view name) {
  return {.name = name,
          .states = states_with_maximum,
          .at_step = adam_at_step,
          .formula = adam_formula};
}
const OptimizerRule kAdam = rule_named("optim::Adam"), kAdamW = rule_named("optim::AdamW");

template <class Given>
OptimizerSettings settings(const OptimizerRule& rule, const Given& options, bool is_decoupled) {
  return {.rule = {&rule},
          .numbers = decayed_adam_numbers(options),
          .options = {{"amsgrad", options.amsgrad},
                      {"maximize", options.maximize},
                      {"decoupled_weight_decay", is_decoupled}},
          .groups = options.groups};
}

}  // namespace

OptimizerRule::Names adam_states(const WeightNumbers&, const Tensor&) {
  return {"exp_avg", "exp_avg_sq"};
}

void add_moments(Tensors& n, const Tensor& steps) {
  n["first_bias"] = 1. - power(n["beta1"], steps);
  n["second_bias"] = 1. - power(n["beta2"], steps);
  n["square_scale"] = rsqrt(n["second_bias"]);
  add_left(n);
}

void average(const WeightNumbers& n, const Tensor& gradient, Tensor& mean, Tensor& mean_square) {
  mean = mean + n.rest("beta1") * (gradient - mean);
  mean_square = n["beta2"] * mean_square + n.rest("beta2") * square(gradient);
}

std::pair<Tensor, Tensor> with_decay(const WeightNumbers& n, const Tensor& value,
                                     const Tensor& gradient) {
  if (n.is("decoupled_weight_decay")) return {shrunk(n, value), gradient};
  return {value, decayed(n, value, gradient)};
}

OptimizerSettings settings_of(const AdamOptions& options) {
  return settings(kAdam, options, options.decoupled_weight_decay);
}
OptimizerSettings settings_of(const AdamWOptions& options) {
  return settings(kAdamW, options, true);
}

}  // namespace plait::optim
