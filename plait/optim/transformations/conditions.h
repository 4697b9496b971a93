// Transformations of transformations that run every few steps, or under a condition; and those that
// measure updates.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "plait/optim/transformations/transformation.h"

namespace plait::optim {

// Applies a transformation if the updates are finite; else the updates are zero and its state
// stays. After max_consecutive_errors such steps it is applied all the same.
Transformation apply_if_finite(Transformation inner, int64_t max_consecutive_errors);

using Condition = std::function<Tensor(const Tensor& step)>;  // bool[] by the number of steps
// Applies a transformation at the steps that the function names; else the updates pass unchanged.
Transformation conditionally_transform(Transformation inner, Condition should_transform_fn);
// The same; else the updates are zero.
Transformation conditionally_mask(Transformation inner, Condition should_transform_fn);

// For multi_steps: whether to leave out updates, and what the state keeps of that by name.
using SkipFunction = std::function<std::pair<Tensor, Tensors>(
    const Tensors& updates, const Tensor& gradient_step, const Tensors& parameters)>;
// Leaves out updates that are not finite.
std::pair<Tensor, Tensors> skip_not_finite(const Tensors& updates, const Tensor& gradient_step,
                                           const Tensors& parameters);
// Leaves out updates whose squared norm is not below max_squared_norm.
SkipFunction skip_large_updates(double max_squared_norm);

struct MultiStepsOptions {
  bool use_grad_mean = true;  // else their sum
  SkipFunction should_skip_update_fn = {};
  std::optional<DType> accumulator_dtype = DType::f32;
};
// optax's MultiSteps: applies a transformation to the means of the gradients of k steps; the
// updates of the steps between are zero. k may be a function of the number of steps that were
// applied.
Transformation multi_steps(Transformation inner, Number every_k_schedule,
                           const MultiStepsOptions& options = {});
// True if the last step applied an update, from the state of multi_steps.
Tensor has_updated(const State& state);

using Measure = std::function<Tensor(const Tensors& updates)>;
// Stores measures of the updates in the state, by name.
Transformation monitor(std::map<std::string, Measure> measures);
Transformation snapshot(std::string measure_name, Measure measure);
// The moving average of a measure, without bias, in the state's `average`.
Transformation measure_with_ema(Measure measure, Number decay, bool debias = true);

struct ReduceOnPlateauOptions {
  Number factor = 0.1;
  Number patience = 10;
  Number rtol = 1e-4;
  Number atol = 0;
  Number cooldown = 0;
  Number accumulation_size = 1;
  Number min_scale = 0;
};
// Scales the updates down when the loss, which `update` gets as {.value = loss}, has not improved
// for `patience` steps.
Transformation reduce_on_plateau(const ReduceOnPlateauOptions& options = {});

}  // namespace plait::optim
