// Gradient transformations, with optax's names: values that map the gradient to the update of the
// parameters, step by step.
//
//   const auto transformation = optim::chain(optim::clip_by_global_norm(1), optim::adamw(1e-3));
//   optim::Optimizer optimizer(transformation, model);
//   optimizer.state.number("learning_rate") = 1e-4;
//   std::tie(model, optimizer) = optimizer.update(model, gradients);
//
// A Transformation is static in a tree: two are equal if one is a copy of the other.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "plait/core/trees/reflect.h"
#include "plait/optim/number.h"
#include "plait/optim/update.h"

namespace plait::optim {

struct TransformationRule;  // inside/transformation_rule.h

// The state of a transformation: a tree of tensors. All numbers are in it, and their schedules.
struct State {
  TreeNumbers numbers;                  // rates, decays
  Tensors values;                       // `count` and others
  std::map<std::string, Tensors> kept;  // by name, for each parameter
  std::map<std::string, State> parts;   // parts of the transformations inside, in order or by name
  std::shared_ptr<const TransformationRule> rule =
      {};  // has the limits of the numbers; not in the tree

  static constexpr auto fields() {
    return plait::fields<State>("numbers", &State::numbers, "values", &State::values, "kept",
                                &State::kept, "parts", &State::parts);
  }

  // The number of this name here or in a part. KeyError if there is none, or several.
  TreeNumber& number(std::string_view name);
  // The value of this name here or in the first part that has one; null if there is none.
  const Tensor* find_value(std::string_view name) const;
  // ValueError for a number, here or in a part, that was assigned and is out of its limits.
  void expect_within() const;
};

// Needed by some transformations besides the gradient.
struct UpdateOptions {
  Tensor value = {};                                         // the loss
  Tensors grad = {};                                         // its gradient
  std::function<Tensor(const Tensors&)> value_fn = {};       // the loss by the parameters
  std::function<Tensors(const Tensors&, int)> grad_fn = {};  // the gradient by the parameters
};

class Transformation {
 public:
  explicit Transformation(std::shared_ptr<const TransformationRule> rule)
      : rule_(std::move(rule)) {}

  // The state before the first step.
  [[nodiscard]] State init(const Tensors& parameters) const;
  // The transformed updates, and the state of the next step.
  [[nodiscard]] std::pair<Tensors, State> update(const Tensors& updates, const State& state,
                                                 const Tensors& parameters = {},
                                                 const UpdateOptions& options = {}) const;

  const TransformationRule& rule() const { return *rule_; }
  std::string text() const;
  friend bool operator==(const Transformation&, const Transformation&) = default;

 private:
  std::shared_ptr<const TransformationRule> rule_;
};

// Made of two functions, as in optax.
Transformation gradient_transformation(
    std::function<State(const Tensors& parameters)> init,
    std::function<std::pair<Tensors, State>(const Tensors& updates, const State& state,
                                            const Tensors& parameters, const UpdateOptions&)>
        update);
// Without a state, by a function of the updates and the parameters.
Transformation stateless(
    std::function<Tensors(const Tensors& updates, const Tensors& parameters)> f);
// Without a state, by a function of one update and its parameter, which may be empty.
Transformation stateless_with_tree_map(
    std::function<Tensor(const Tensor& update, const Tensor& parameter)> f);
Transformation identity();     // passes the updates on unchanged
Transformation set_to_zero();  // updates of zero

// The parameters plus their updates, in the dtypes of the parameters. ValueError for an update of
// another shape, and a complex one of real numbers.
[[nodiscard]] Tensors apply_updates(const Tensors& parameters, const Tensors& updates);
// The norm of all tensors together.
Tensor global_norm(const Tensors& updates);
// The average step_size · now + (1 - step_size) · old.
[[nodiscard]] Tensors incremental_update(const Tensors& now, const Tensors& old,
                                         const Operand& step_size);
// The new tensors if the number of steps is a multiple of the period, else the old ones.
[[nodiscard]] Tensors periodic_update(const Tensors& now, const Tensors& old, const Tensor& steps,
                                      int64_t update_period);

// All of an optimizer of a transformation.
struct TransformedState {
  Transformation transformation;
  State state;
  Tensor steps;  // i64[]

  static constexpr auto fields() {
    return plait::fields<TransformedState>("transformation", &TransformedState::transformation,
                                           "state", &TransformedState::state, "steps",
                                           &TransformedState::steps);
  }
  static TransformedState init(const Transformation& transformation, const Tensors& parameters);
  // The factor of the loss, with loss_scale in the transformation; else 1.
  Tensor loss_scale() const;
  // One step, in place.
  void follow(Tensors& parameters, const Tensors& gradients, const UpdateOptions& options);
};

// An optimizer of a transformation, whose updates are added to the parameters.
template <class Model>
struct Optimizer : TransformedState {
  Optimizer(const Transformation& transformation, const Model& model)
      : TransformedState(TransformedState::init(transformation, parameters_of(model))) {}
  static constexpr auto fields() {
    return plait::fields<Optimizer>(fields_of_base<TransformedState>());
  }

  // Returns the model and the optimizer of the next step.
  [[nodiscard]] std::pair<Model, Optimizer> update(Model model, const Model& gradients,
                                                   const UpdateOptions& options = {}) const {
    Optimizer next = *this;
    Tensors parameters = parameters_of(model);
    next.follow(parameters, gradients_of("optim::Optimizer", model, gradients), options);
    assign_parameters(model_leaves(model), parameters);
    return {std::move(model), std::move(next)};
  }
  // The same for line searches, with the loss, a function of the model, and its value.
  template <class Loss>
  [[nodiscard]] std::pair<Model, Optimizer> update_by_loss(const Model& model,
                                                           const Model& gradients,
                                                           const Tensor& value,
                                                           const Loss& loss_of) const {
    UpdateOptions options{.value = value,
                          .grad = gradients_of("optim::Optimizer", model, gradients)};
    options.value_fn = [&](const Tensors& parameters) -> Tensor {
      return loss_of(with_parameters(model, parameters));
    };
    return update(model, gradients, options);
  }
};

}  // namespace plait::optim

template <>
struct std::hash<plait::optim::Transformation> {
  size_t operator()(const plait::optim::Transformation& transformation) const {
    return std::hash<const void*>()(&transformation.rule());
  }
};
