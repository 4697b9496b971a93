// Adam (Kingma and Ba, 2014), as torch.optim.Adam, and with decoupled weight decay (Loshchilov and
// Hutter, 2017), as torch.optim.AdamW.
#pragma once

#include <string_view>
#include <utility>

#include "plait/optim/update.h"

namespace plait::optim {

struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;    // decay of the mean of gradients
  double beta2 = 0.999;  // decay of the mean of their squares
  double eps = 1e-8;
  double weight_decay = 0;  // L2 penalty: this times the weight is added to the gradient
};
struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;  // decoupled: each weight shrinks by this times the rate
};

// The options of either optimizer, without the learning rate, which may change.
struct AdamRule {
  std::string_view name;
  double beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
  bool is_decoupled = false;  // AdamW's decay
};
AdamRule rule_of(const AdamOptions& options);  // ValueError for invalid options
AdamRule rule_of(const AdamWOptions& options);

// One step, with the number `steps`, of all tensors in place.
void adam_step(const AdamRule& rule, const Tensor& rate, const Tensor& steps,
               std::span<Tensor* const> values, std::span<const Tensor> gradients,
               std::span<Tensor* const> means, std::span<Tensor* const> squares);

// State of Adam and AdamW.
template <class Model>
struct AdamState {
  Tensor lr;             // f64[]
  Tensor steps;          // i64[]: steps so far
  Model means, squares;  // of gradients
  AdamRule rule;

  // As update, in place.
  void follow(Model& model, const Model& gradients) {
    expect_like(rule.name, "the gradient", model, gradients);
    expect_like(rule.name, "the mean", model, means);
    expect_like(rule.name, "the mean square", model, squares);
    steps = one_more(steps);
    adam_step(rule, lr, steps, leaves<Tensor>(model), tensors_of(gradients), leaves<Tensor>(means),
              leaves<Tensor>(squares));
  }

  static AdamState init(const Model& model, const AdamRule& rule, double lr) {
    return {.lr = rate_of(rule.name, lr),
            .steps = no_steps(),
            .means = zeros_like_trained(model),
            .squares = zeros_like_trained(model),
            .rule = rule};
  }
};

template <class Model>
struct Adam : AdamState<Model> {
  explicit Adam(const Model& model, const AdamOptions& options = {})
      : AdamState<Model>(AdamState<Model>::init(model, rule_of(options), options.lr)) {}
  static constexpr auto fields() { return plait::fields<Adam>(fields_of_base<AdamState<Model>>()); }
  // Returns the model and the optimizer of the next step.
  std::pair<Model, Adam> update(Model model, const Model& gradients) const {
    Adam next = *this;
    next.follow(model, gradients);
    return {std::move(model), std::move(next)};
  }
};

template <class Model>
struct AdamW : AdamState<Model> {
  explicit AdamW(const Model& model, const AdamWOptions& options = {})
      : AdamState<Model>(AdamState<Model>::init(model, rule_of(options), options.lr)) {}
  static constexpr auto fields() {
    return plait::fields<AdamW>(fields_of_base<AdamState<Model>>());
  }
  std::pair<Model, AdamW> update(Model model, const Model& gradients) const {
    AdamW next = *this;
    next.follow(model, gradients);
    return {std::move(model), std::move(next)};
  }
};

}  // namespace plait::optim
