// A training step for any model and optimizer.
#pragma once

#include <tuple>

#include "plait/nn/losses.h"
#include "plait/transform/derivatives/grad.h"

namespace plait::models {

template <class Model>
Tensor loss_of(const Model& model, const Tensor& x, const Tensor& y) {
  return nn::cross_entropy(model(x), y, {.axis = -1});
}

// Returns the next model, the next optimizer, and the loss before the step.
template <class Model, class Optimizer>
std::tuple<Model, Optimizer, Tensor> step(const Model& model, const Optimizer& optimizer,
                                          const Tensor& x, const Tensor& y) {
  const auto [loss, gradients] = value_and_grad(loss_of<Model>)(model, x, y);
  const auto [next, state] = optimizer.update(model, gradients);
  return {next, state, loss};
}

}  // namespace plait::models
