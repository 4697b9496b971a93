// Optimizers as transformations: optax's aliases.
//
//   optim::Optimizer optimizer(optim::adamw(1e-3, {.weight_decay = 0.01}), model);
#pragma once

#include <optional>
#include <vector>

#include "plait/optim/transformations/combining.h"
#include "plait/optim/transformations/moments.h"
#include "plait/optim/transformations/scaling.h"
#include "plait/optim/transformations/squares.h"
#include "plait/optim/transformations/transformation.h"

namespace plait::optim {

struct SgdAliasOptions {
  std::optional<Number> momentum = {};
  bool nesterov = false;
  std::optional<DType> accumulator_dtype = {};
};
Transformation sgd(Number learning_rate, const SgdAliasOptions& options = {});

Transformation adam(Number learning_rate, const ScaleByAdamOptions& options = {});
struct AdamwAliasOptions {
  Number b1 = 0.9;
  Number b2 = 0.999;
  Number eps = 1e-8;
  Number eps_root = 0;
  std::optional<DType> mu_dtype = {};
  Number weight_decay = 1e-4;  // decoupled
  std::optional<Mask> mask = {};
  bool nesterov = false;
};
Transformation adamw(Number learning_rate, const AdamwAliasOptions& options = {});
// With Nesterov's momentum.
Transformation nadam(Number learning_rate, ScaleByAdamOptions options = {});
Transformation nadamw(Number learning_rate, AdamwAliasOptions options = {});
Transformation adabelief(Number learning_rate, const ScaleByBeliefOptions& options = {});

struct AdamaxAliasOptions {
  Number b1 = 0.9;
  Number b2 = 0.999;
  Number eps = 1e-8;
};
Transformation adamax(Number learning_rate, const AdamaxAliasOptions& options = {});
struct DecayOptions {
  Number weight_decay = 0;
  std::optional<Mask> mask = {};
};
Transformation adamaxw(Number learning_rate, const AdamaxAliasOptions& options = {},
                       const DecayOptions& decay = {.weight_decay = 1e-4});
Transformation adan(Number learning_rate, const ScaleByAdanOptions& options = {.eps_root = 1e-8},
                    const DecayOptions& decay = {});
Transformation lion(Number learning_rate, const ScaleByLionOptions& options = {},
                    const DecayOptions& decay = {.weight_decay = 1e-3});
Transformation amsgrad(Number learning_rate, const ScaleByAmsgradOptions& options = {});
// Adam scaled by the norm of each parameter, for large batches.
Transformation lamb(Number learning_rate, const ScaleByAdamOptions& options = {.eps = 1e-6},
                    const DecayOptions& decay = {});

struct LarsOptions {
  Number weight_decay = 0;
  std::optional<Mask> weight_decay_mask = {};
  Number trust_coefficient = 0.001;
  Number eps = 0;
  std::optional<Mask> trust_ratio_mask = {};
  Number momentum = 0.9;
  bool nesterov = false;
};
// Momentum scaled by the norm of each parameter, for large batches.
Transformation lars(Number learning_rate, const LarsOptions& options = {});
// Gradient descent with noise that decreases.
Transformation noisy_sgd(Number learning_rate, const Tensor& key, Number eta = 0.01,
                         Number gamma = 0.55);
Transformation sign_sgd(Number learning_rate);  // along the signs of the gradient
Transformation signum(Number learning_rate, Number beta = 0.9,
                      std::optional<DType> accumulator_dtype = {});
// Gradient descent with the change of the gradient added.
Transformation optimistic_gradient_descent(Number learning_rate, Number alpha = 1, Number beta = 1);
// Adam with the change of its direction added, times `optimism`, which is the rate by default.
Transformation optimistic_adam(Number learning_rate, const std::optional<Number>& optimism = {},
                               const ScaleByAdamOptions& options = {.nesterov = true});
Transformation optimistic_adam_v2(Number learning_rate, Number alpha = 1, Number beta = 1,
                                  const ScaleByAdamOptions& options = {.nesterov = true});
Transformation radam(Number learning_rate, const ScaleByRadamOptions& options = {});
Transformation yogi(Number learning_rate, const ScaleByYogiOptions& options = {});
// Gradient descent with Polyak's rate; `update` needs the loss: {.value = loss}.
Transformation polyak_sgd(Number max_learning_rate = 1, Number scaling = 1, Number f_min = 0,
                          Number eps = 0, PolyakVariant variant = PolyakVariant::sps);
Transformation ademamix(Number learning_rate, const ScaleByAdemamixOptions& options = {.alpha = 5},
                        const DecayOptions& decay = {});
Transformation simplified_ademamix(Number learning_rate,
                                   const ScaleBySimplifiedAdemamixOptions& options = {},
                                   const DecayOptions& decay = {});
struct AcpropOptions {
  Number b1 = 0.9;
  Number b2 = 0.999;
  Number eps = 1e-16;
  Number eps_root = 1e-16;
};
Transformation acprop(Number learning_rate, const AcpropOptions& options = {},
                      const DecayOptions& decay = {});
// Steps in proportion to the norm of each parameter.
Transformation fromage(Number learning_rate, Number min_norm = 1e-6);
Transformation adopt(Number learning_rate, const ScaleByAdoptOptions& options = {});
// Gradient descent that is differentially private; the gradients have an axis of examples first.
Transformation dpsgd(Number learning_rate, Number l2_norm_clip, Number noise_multiplier,
                     const Tensor& key, const SgdAliasOptions& options = {});

Transformation adadelta(std::optional<Number> learning_rate = {}, Number rho = 0.9,
                        Number eps = 1e-6, const DecayOptions& decay = {});
Transformation adagrad(Number learning_rate, Number initial_accumulator_value = 0.1,
                       Number eps = 1e-7);
Transformation novograd(Number learning_rate,
                        const ScaleByNovogradOptions& options = {.eps = 1e-6});
Transformation sm3(Number learning_rate, Number momentum = 0.9);
Transformation rprop(Number learning_rate, const ScaleByRpropOptions& options = {});
Transformation madgrad(Number learning_rate, Number momentum = 0.9, Number weight_decay = 0,
                       Number eps = 1e-6);
Transformation cocob(Number learning_rate = 1, Number alpha = 100, Number eps = 1e-8,
                     const DecayOptions& decay = {});
struct RmspropOptions {
  Number decay = 0.9;
  Number eps = 1e-8;
  Number initial_scale = 0;
  bool eps_in_sqrt = true;
  bool centered = false;
  std::optional<Number> momentum = {};
  bool nesterov = false;
  bool bias_correction = false;
};
Transformation rmsprop(Number learning_rate, const RmspropOptions& options = {});
struct AdafactorAliasOptions {
  int64_t min_dim_size_to_factor = 128;
  Number decay_rate = 0.8;
  int64_t decay_offset = 0;
  bool multiply_by_parameter_scale = true;
  std::optional<Number> clipping_threshold = 1;
  std::optional<Number> momentum = {};
  DType dtype_momentum = DType::f32;
  std::optional<Number> weight_decay_rate = {};
  Number eps = 1e-30;
  bool factored = true;
  std::optional<Mask> weight_decay_mask = {};
};
// The second moment of a large matrix as the means of its rows and columns.
Transformation adafactor(std::optional<Number> learning_rate = {},
                         const AdafactorAliasOptions& options = {});

}  // namespace plait::optim
