// L-BFGS, as torch.optim.LBFGS: steps by an estimate of the inverse Hessian from the last
// gradients, for losses without noise. An update makes up to max_iter steps, which evaluate the
// loss:
//
//   optim::LBFGS optimizer(model, {.line_search_fn = optim::LineSearch::strong_wolfe});
//   std::tie(model, optimizer) =
//       optimizer.update(model, [&](const Model& model) { return loss_of(model, x, y); });
#pragma once

#include <functional>
#include <utility>

#include "plait/core/trees/reflect.h"
#include "plait/optim/update.h"
#include "plait/transform/derivatives/grad.h"

namespace plait::optim {

enum class LineSearch { none, strong_wolfe };

struct LBFGSOptions {
  Number lr = 1;
  int64_t max_iter = 20;
  int64_t max_eval = 0;  // 0: max_iter · 5 / 4
  Number tolerance_grad = 1e-7;
  Number tolerance_change = 1e-9;
  int64_t history_size = 100;
  LineSearch line_search_fn = LineSearch::none;
  bool maximize = false;
};

// The loss and its gradient by the parameters.
using LossOfParameters = std::function<std::pair<Tensor, Tensors>(const Tensors&)>;

struct LBFGSState {
  TreeNumber lr, tolerance_grad, tolerance_change;
  Tensor steps;   // i64[]: updates so far
  Tensor loss;    // before the last update
  Tensors state;  // PyTorch's, of all parameters together
  int64_t max_iter, max_eval, history_size;
  LineSearch line_search_fn;
  bool maximize;

  static constexpr auto fields() {
    return plait::fields<LBFGSState>(
        "lr", &LBFGSState::lr, "tolerance_grad", &LBFGSState::tolerance_grad, "tolerance_change",
        &LBFGSState::tolerance_change, "steps", &LBFGSState::steps, "loss", &LBFGSState::loss,
        "state", &LBFGSState::state, "max_iter", &LBFGSState::max_iter, "max_eval",
        &LBFGSState::max_eval, "history_size", &LBFGSState::history_size, "line_search_fn",
        &LBFGSState::line_search_fn, "maximize", &LBFGSState::maximize);
  }
  static LBFGSState init(const Tensors& parameters, const LBFGSOptions& options);
  // One update, in place.
  void follow(Tensors& parameters, const LossOfParameters& evaluate);
};

template <class Model>
struct LBFGS : LBFGSState {
  explicit LBFGS(const Model& model, const LBFGSOptions& options = {})
      : LBFGSState(LBFGSState::init(parameters_of(model), options)) {}
  static constexpr auto fields() { return plait::fields<LBFGS>(fields_of_base<LBFGSState>()); }

  // Returns the model and the optimizer of the next step. `loss_of` is a function of the model.
  template <class Loss>
  [[nodiscard]] std::pair<Model, LBFGS> update(const Model& model, const Loss& loss_of) const {
    LBFGS next = *this;
    Tensors parameters = parameters_of(model);
    const auto loss = [&](const Model& at) -> Tensor { return loss_of(at); };
    next.follow(parameters, [&](const Tensors& at) {
      const auto [value, gradients] = value_and_grad(loss)(with_parameters(model, at));
      return std::pair(value, gradients_of("optim::LBFGS", model, gradients));
    });
    return {with_parameters(model, parameters), std::move(next)};
  }
};

}  // namespace plait::optim
