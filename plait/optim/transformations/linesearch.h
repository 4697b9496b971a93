// L-BFGS as a transformation, and searches for the length of a step. `update` needs the loss, its
// gradient, and the loss as a function of the parameters: Optimizer::update_by_loss passes them.
#pragma once

#include <optional>

#include "plait/optim/transformations/transformation.h"

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

}  // namespace plait::optim
