// Transformations that divide the gradient by what they know of its squares, and others with a
// memory of their own.
#pragma once

#include <functional>
#include <optional>

#include "plait/optim/transformations/transformation.h"

namespace plait::optim {

// Divides by the root of the sum of all squares so far, as Adagrad does.
Transformation scale_by_rss(Number initial_accumulator_value = 0.1, Number eps = 1e-7);

struct ScaleByRmsOptions {
  Number decay = 0.9;
  Number eps = 1e-8;
  Number initial_scale = 0;
  bool eps_in_sqrt = true;
  bool bias_correction = false;
};
// Divides by the root of the second moment; of the centred one.
Transformation scale_by_rms(const ScaleByRmsOptions& options = {});
Transformation scale_by_stddev(const ScaleByRmsOptions& options = {});
// Multiplies by the root of the mean square of past updates over that of the gradients.
Transformation scale_by_adadelta(Number rho = 0.9, Number eps = 1e-6);

struct ScaleByNovogradOptions {
  Number b1 = 0.9;
  Number b2 = 0.25;
  Number eps = 1e-8;
  Number eps_root = 0;
  Number weight_decay = 0;
  std::optional<DType> mu_dtype = {};
};
// The gradient over the root of the second moment of its norm, plus decay, accumulated.
Transformation scale_by_novograd(const ScaleByNovogradOptions& options = {});
// The gradient plus its change, (alpha + beta) · g - beta · the one before.
Transformation scale_by_optimistic_gradient(Number alpha = 1, Number beta = 1);

struct ScaleByRpropOptions {
  Number eta_minus = 0.5;
  Number eta_plus = 1.2;
  Number min_step_size = 1e-6;
  Number max_step_size = 50;
};
// Steps of their own size for each element, larger as long as the sign of the gradient stays. As in
// optax, the update of a step is returned by the next one.
Transformation scale_by_rprop(Number learning_rate, const ScaleByRpropOptions& options = {});
// Adds up the updates of k steps, which are then applied; the other updates are zero.
Transformation apply_every(Number k = 1);
// COCOB: bets on the sign of the gradient, without a rate.
Transformation scale_by_cocob(Number alpha = 100, Number eps = 1e-8);
// MADGRAD: dual averaging with the cube root of the squares.
Transformation scale_by_madgrad(Number learning_rate, Number momentum = 0.9, Number eps = 1e-6);

struct DistanceOverGradientsOptions {
  Number reps_rel = 1e-6;
  Number eps = 1e-8;
  DType param_dtype = DType::f32;
  Number global_scale = 1;
};
// For each parameter, the largest distance from its start over the root of the sum of squared norms
// of its gradients.
Transformation scale_by_distance_over_gradients(const DistanceOverGradientsOptions& options = {});

struct FactoredRmsOptions {
  bool factored = true;
  Number decay_rate = 0.8;
  int64_t step_offset = 0;
  int64_t min_dim_size_to_factor = 128;
  Number epsilon = 1e-30;
  // The decay at a step, by the number of steps and decay_rate: 1 - (steps + 1)^-decay_rate.
  std::function<Tensor(const Tensor& steps, const Tensor& decay_rate)> decay_rate_fn = {};
};
// Divides by the root of the second moment, of which large matrices keep the means of rows and
// columns only, as Adafactor does.
Transformation scale_by_factored_rms(const FactoredRmsOptions& options = {});
// SM3: a maximum of the squares along each axis instead of all squares.
Transformation scale_by_sm3(Number b1 = 0.9, Number b2 = 1, Number eps = 1e-8);

}  // namespace plait::optim
