// L-BFGS as a transformation, and searches for the length of a step. `update` needs the loss, its
// gradient, and the loss as a function of the parameters: Optimizer::update_by_loss passes them.
#pragma once

#include <optional>
#include <utility>

#include "plait/ops/arrays/create.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/optim/transformations/transformation.h"
#include "plait/transform/control/control.h"
#include "plait/transform/derivatives/grad.h"

namespace plait::optim {

// Multiplies the gradient by an estimate of the inverse Hessian, from the last memory_size steps.
Transformation scale_by_lbfgs(int64_t memory_size = 10, bool scale_init_precond = true);

struct BacktrackingOptions {
  Number slope_rtol = 1e-4;
  Number decrease_factor = 0.8;
  Number increase_factor = 1.5;
  Number max_learning_rate = 1;
  Number atol = 0;
  Number rtol = 0;
  bool store_grad = false;  // the state has the gradient at the new parameters
};
// Shortens the step until the loss falls enough (Armijo).
Transformation scale_by_backtracking_linesearch(Number max_backtracking_steps,
                                                const BacktrackingOptions& options = {});

enum class InitialGuess { keep, one };
struct ZoomOptions {
  std::optional<Number> max_learning_rate = {};
  Number tol = 0;
  Number increase_factor = 2;
  Number slope_rtol = 1e-4;
  Number curv_rtol = 0.9;
  std::optional<Number> approx_dec_rtol = 1e-6;
  Number stepsize_precision = 1e-5;
  InitialGuess initial_guess_strategy = InitialGuess::keep;
};
// Searches a step for which the loss falls enough and its slope is flat enough (strong Wolfe).
Transformation scale_by_zoom_linesearch(Number max_linesearch_steps,
                                        const ZoomOptions& options = {});

struct LbfgsOptions {
  int64_t memory_size = 10;
  bool scale_init_precond = true;
  // scale_by_zoom_linesearch(20, {.initial_guess_strategy = InitialGuess::one}) by default; without
  // a search: identity().
  std::optional<Transformation> linesearch = {};
};
// L-BFGS with a line search; the class optim::LBFGS has PyTorch's.
Transformation lbfgs(const std::optional<Number>& learning_rate = {},
                     const LbfgsOptions& options = {});

// The part of a state that has the loss and its gradient, of a line search that stores them.
// ValueError if there is none.
const State& search_state(const State& state);
// The gradient in it for the parameters of a model, as value_and_grad returns it.
Tensors stored_gradient(const State& search);

// As value_and_grad(value_fn), from the state of a line search where it has them: f(model, state,
// arguments…), which calls value_fn(model, arguments…) only before the first step.
//
//   const auto [loss, gradients] = optim::value_and_grad_from_state(loss_of)(model,
//   optimizer.state);
template <class F>
auto value_and_grad_from_state(F value_fn) {
  return [value_fn = std::move(value_fn)]<class Model, class... Arguments>(
             const Model& model, const State& state, const Arguments&... arguments) {
    const State& found = search_state(state);
    using Result = std::pair<Tensor, Model>;
    const auto again = [&]() -> Result {
      const auto loss = [&](const Model& at) -> Tensor { return value_fn(at, arguments...); };
      auto [value, gradients] = value_and_grad(loss)(model);
      return {as_f64(value), std::move(gradients)};
    };
    const auto stored = [&]() -> Result {
      const Model zero = map_leaves(model, [](const Tensor& each) { return zeros_like(each); });
      return {as_f64(found.values.at("value")), with_parameters(zero, stored_gradient(found))};
    };
    return cond(isfinite(found.values.at("value")), stored, again);
  };
}

}  // namespace plait::optim
