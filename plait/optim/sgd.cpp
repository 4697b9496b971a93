#include "plait/optim/sgd.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/optim/inside/optimizer_rule.h"

namespace plait::optim {
namespace {

using Names = OptimizerRule::Names;

// ---- SGD

Names sgd_states(const WeightNumbers& n, const Tensor&) {
  return n.has("momentum") ? Names{"momentum_buffer"} : Names{};
}
void sgd_at_step(Tensors& n, const Tensor& steps) {
  n["kept"] = where(steps == 1., f64_of(1), 1. - n.at("dampening"));
}
Tensor sgd_formula(const WeightNumbers& n, const Tensor& value, const Tensor& given,
                   std::span<Tensor> states) {
  const Tensor gradient = decayed(n, value, given);
  if (states.empty()) return value - n["lr"] * gradient;
  Tensor& buffer = states[0];
  buffer = n["momentum"] * buffer + n["kept"] * gradient;
  return value - n["lr"] * (n.is("nesterov") ? gradient + n["momentum"] * buffer : buffer);
}
const OptimizerRule kSgd{.name = "optim::SGD",
                         .optional = {"momentum"},
                         .states = sgd_states,
                         .at_step = sgd_at_step,
                         .formula = sgd_formula};

// ---- ASGD

Names asgd_states(const WeightNumbers&, const Tensor&) { return {"eta", "mu", "ax"}; }
Tensor asgd_first(const std::string& state, const WeightNumbers& n, const Tensor& parameter) {
  if (state == "ax") return zeros_like(parameter);
  return state == "eta" ? n.exact("lr") * f64_of(1) : f64_of(1);
}
void asgd_at_step(Tensors& n, const Tensor& steps) {
  n["next_eta"] = n["lr"] / power(1. + n["lambd"] * n["lr"] * steps, n["alpha"]);
  n["next_mu"] = 1. / maximum(steps - n["t0"], 1.);
}
Tensor asgd_formula(const WeightNumbers& n, const Tensor& value, const Tensor& given,
                    std::span<Tensor> states) {
  const Tensor gradient = decayed(n, value, given);
  const Tensor eta = astype(states[0], value.dtype()), mu = astype(states[1], value.dtype());
  const Tensor next = value * (1. - n["lambd"] * eta) - eta * gradient;
  states[2] = where(states[1] == 1., next, states[2] + (next - states[2]) * mu);
  states[0] = n.exact("next_eta") * f64_of(1);
  states[1] = n.exact("next_mu") * f64_of(1);
  return next;
}
const OptimizerRule kAsgd{.name = "optim::ASGD",
                          .scalar_states = {"eta", "mu"},
                          .states = asgd_states,
                          .first = asgd_first,
                          .at_step = asgd_at_step,
                          .formula = asgd_formula};

// ---- Rprop

Names rprop_states(const WeightNumbers&, const Tensor&) { return {"prev", "step_size"}; }
Tensor rprop_first(const std::string& state, const WeightNumbers& n, const Tensor& parameter) {
  if (state == "prev") return zeros_like(parameter);
  const Tensor size = zeros(parameter.shape(), DType::f64) + n.exact("lr");
  return is_complex(parameter.dtype()) ? astype(make_complex(size, size), parameter.dtype())
                                       : astype(size, parameter.dtype());
}
Tensor rprop_formula(const WeightNumbers& n, const Tensor& value, const Tensor& gradient,
                     std::span<Tensor> states) {
  const Tensor product = gradient * states[0], one = ones_like(product);
  const Tensor factor =
      where(product > 0., n["eta_plus"] * one, where(product < 0., n["eta_minus"] * one, one));
  states[1] = clip(states[1] * factor, n["least_step"], n["greatest_step"]);
  states[0] = where(product < 0., zeros_like(gradient), gradient);
  return value - sign(states[0]) * states[1];
}
const OptimizerRule kRprop{
    .name = "optim::Rprop", .states = rprop_states, .first = rprop_first, .formula = rprop_formula};

// ---- Lion

Names lion_states(const WeightNumbers&, const Tensor&) { return {"exp_avg"}; }
void lion_at_step(Tensors& n, const Tensor&) { add_left(n); }
Tensor lion_formula(const WeightNumbers& n, const Tensor& value, const Tensor& gradient,
                    std::span<Tensor> states) {
  const Tensor change = gradient - states[0];
  const Tensor update = sign(states[0] + n.rest("beta1") * change);
  states[0] = states[0] + n.rest("beta2") * change;
  return shrunk(n, value) - n["lr"] * update;
}
const OptimizerRule kLion{
    .name = "optim::Lion", .states = lion_states, .at_step = lion_at_step, .formula = lion_formula};

}  // namespace

OptimizerSettings settings_of(const SGDOptions& options) {
  if (options.nesterov && options.momentum.is_zero()) {
    throw ValueError("optim::SGD: nesterov needs a momentum")
        .at(Location::of_caller())
        .hint("pass .momentum = 0.9");
  }
  if (options.nesterov && !options.dampening.is_zero()) {
    throw ValueError("optim::SGD: nesterov needs a dampening of 0")
        .at(Location::of_caller())
        .hint("leave out .dampening");
  }
  return {.rule = {&kSgd},
          .numbers = {positive("lr", options.lr), positive("momentum", options.momentum),
                      any_number("dampening", options.dampening),
                      positive("weight_decay", options.weight_decay)},
          .options = {{"nesterov", options.nesterov}, {"maximize", options.maximize}},
          .groups = options.groups};
}

OptimizerSettings settings_of(const ASGDOptions& options) {
  return {.rule = {&kAsgd},
          .numbers = {positive("lr", options.lr), positive("lambd", options.lambd),
                      any_number("alpha", options.alpha), any_number("t0", options.t0),
                      positive("weight_decay", options.weight_decay)},
          .options = {{"maximize", options.maximize}},
          .groups = options.groups};
}

OptimizerSettings settings_of(const RpropOptions& options) {
  const auto& [least, greatest] = options.step_sizes;
  if (least.given() && greatest.given() && *least.given() > *greatest.given()) {
    throw ValueError("optim::Rprop: step_sizes are {} and {}, expected the least one first",
                     *least.given(), *greatest.given())
        .at(Location::of_caller());
  }
  return {.rule = {&kRprop},
          .numbers = {positive("lr", options.lr),
                      {"eta_minus", options.etas.first, kAboveZero, 1},
                      {"eta_plus", options.etas.second, kAboveOne},
                      positive("least_step", options.step_sizes.first),
                      positive("greatest_step", options.step_sizes.second)},
          .options = {{"maximize", options.maximize}},
          .groups = options.groups};
}

OptimizerSettings settings_of(const LionOptions& options) {
  return {.rule = {&kLion},
          .numbers = {positive("lr", options.lr), decay_number("beta1", options.beta1),
                      decay_number("beta2", options.beta2),
                      positive("weight_decay", options.weight_decay)},
          .options = {{"maximize", options.maximize}},
          .groups = options.groups};
}

}  // namespace plait::optim
