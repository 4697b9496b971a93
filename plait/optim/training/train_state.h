// All that a training run continues from, as one tree: a jitted step takes and returns it, and a
// checkpoint is the whole of it.
//
//   auto state = optim::train_state(model, optim::AdamW(model), random::key(0));
//   auto step = jit([](auto state, Tensor x, Tensor y) {
//     auto [loss, gradients] = value_and_grad(loss_of)(state.model, x, y);
//     return std::pair(state.update(gradients), loss);
//   });
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>

#include "plait/tensor/tensor.h"

namespace plait::optim {

// The key of a step, and of integers that tell its uses apart.
Tensor key_of_step(const Tensor& key, const Tensor& step);
Tensor key_of_use(const Tensor& key, int64_t label);
Tensor first_step();  // 0 as i64[]
Tensor step_after(const Tensor& step);

template <class Model, class ModelOptimizer, class Metrics = std::tuple<>,
          class Loader = std::tuple<>>
struct TrainState {
  Model model;
  ModelOptimizer optimizer;
  Tensor key;   // key of random numbers
  Tensor step;  // i64[]
  Metrics metrics = {};
  Loader loader = {};  // its place, a tree: data::tensors_of(loader.state())

  // The state after one step of the optimizer. Further arguments are passed to its update.
  template <class... More>
  [[nodiscard]] TrainState update(const Model& gradients, const More&... more) const {
    return update_model(model, gradients, more...);
  }
  // The same, of the model that the loss returned, with new running statistics.
  template <class... More>
  [[nodiscard]] TrainState update_model(const Model& changed, const Model& gradients,
                                        const More&... more) const {
    TrainState next = *this;
    std::tie(next.model, next.optimizer) = optimizer.update(changed, gradients, more...);
    next.step = step_after(step);
    return next;
  }

  // A random key for this step, and for integers that tell its uses apart: the same whenever the
  // step is run again.
  template <class... Labels>
  Tensor step_key(Labels... labels) const {
    Tensor made = key_of_step(key, step);
    ((made = key_of_use(made, labels)), ...);
    return made;
  }
};

template <class Model, class ModelOptimizer, class Metrics = std::tuple<>,
          class Loader = std::tuple<>>
TrainState<Model, ModelOptimizer, Metrics, Loader> train_state(Model model,
                                                               ModelOptimizer optimizer, Tensor key,
                                                               Metrics metrics = {},
                                                               Loader loader = {}) {
  return {std::move(model), std::move(optimizer), std::move(key),
          first_step(),     std::move(metrics),   std::move(loader)};
}

}  // namespace plait::optim
