// Stochastic gradient descent with momentum, as torch.optim.SGD.
#pragma once

#include <optional>
#include <utility>

#include "plait/optim/update.h"

namespace plait::optim {

struct SgdOptions {
  double lr = 1e-3;
  double momentum = 0;      // decay of the velocity
  double weight_decay = 0;  // L2 penalty: this times the weight is added to the gradient
  bool nesterov = false;    // Nesterov momentum
};

// The options without the learning rate, which may change.
struct SgdRule {
  double momentum = 0, weight_decay = 0;
  bool nesterov = false;
};
SgdRule rule_of(const SgdOptions& options);  // ValueError for invalid options

// One step of all tensors in place. `velocities` is empty without momentum.
void sgd_step(const SgdRule& rule, const Tensor& rate, std::span<Tensor* const> values,
              std::span<const Tensor> gradients, std::span<Tensor* const> velocities);

template <class Model>
struct Sgd {
  Tensor lr;     // f64[]
  Tensor steps;  // i64[]: steps so far
  std::optional<Model> velocity;
  SgdRule rule;

  explicit Sgd(const Model& model, const SgdOptions& options = {})
      : lr(rate_of("optim::Sgd", options.lr)), steps(no_steps()), rule(rule_of(options)) {
    if (rule.momentum != 0) velocity = zeros_like_trained(model);
  }
  static constexpr auto fields() {
    return plait::fields<Sgd>("lr", &Sgd::lr, "steps", &Sgd::steps, "velocity", &Sgd::velocity,
                              "rule", &Sgd::rule);
  }

  // Returns the model and the optimizer of the next step.
  std::pair<Model, Sgd> update(Model model, const Model& gradients) const {
    expect_like("optim::Sgd", "the gradient", model, gradients);
    if (velocity) expect_like("optim::Sgd", "the velocity", model, *velocity);
    Sgd next = *this;
    next.steps = one_more(steps);
    std::vector<Tensor*> velocities;
    if (next.velocity) velocities = leaves<Tensor>(*next.velocity);
    sgd_step(rule, lr, leaves<Tensor>(model), tensors_of(gradients), velocities);
    return {std::move(model), std::move(next)};
  }
};

}  // namespace plait::optim
