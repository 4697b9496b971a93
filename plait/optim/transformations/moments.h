// Transformations that keep moments of the gradient: Adam and its family.
#pragma once

#include <functional>
#include <optional>

#include "plait/optim/transformations/transformation.h"

namespace plait::optim {

struct ScaleByAdamOptions {
  Number b1 = 0.9;
  Number b2 = 0.999;
  Number eps = 1e-8;
  Number eps_root = 0;
  std::optional<DType> mu_dtype = {};  // dtype of the first moment
  bool nesterov = false;
};
// Divides the first moment of the gradient by the root of the second, both without bias.
Transformation scale_by_adam(const ScaleByAdamOptions& options = {});

struct ScaleByAmsgradOptions {
  Number b1 = 0.9;
  Number b2 = 0.999;
  Number eps = 1e-8;
  Number eps_root = 0;
  std::optional<DType> mu_dtype = {};
  bool bias_correction_mu = true;
  bool bias_correction_nu = true;
};
// As scale_by_adam, with the maximum of all second moments so far.
Transformation scale_by_amsgrad(const ScaleByAmsgradOptions& options = {});

// Divides the first moment by a decaying maximum of the magnitudes.
Transformation scale_by_adamax(Number b1 = 0.9, Number b2 = 0.999, Number eps = 1e-8);

struct ScaleByBeliefOptions {
  Number b1 = 0.9;
  Number b2 = 0.999;
  Number eps = 1e-16;
  Number eps_root = 1e-16;
  bool nesterov = false;
};
// Divides the first moment by the root of the second moment of the difference from it.
Transformation scale_by_belief(const ScaleByBeliefOptions& options = {});
// Divides the gradient by the root of the centred second moment before it.
Transformation scale_by_acprop(Number b1 = 0.9, Number b2 = 0.999, Number eps = 1e-16,
                               Number eps_root = 1e-16);

struct ScaleByYogiOptions {
  Number b1 = 0.9;
  Number b2 = 0.999;
  Number eps = 1e-3;
  Number eps_root = 0;
  Number initial_accumulator_value = 1e-6;
};
// As scale_by_adam, with a second moment that grows slowly.
Transformation scale_by_yogi(const ScaleByYogiOptions& options = {});

struct ScaleByRadamOptions {
  Number b1 = 0.9;
  Number b2 = 0.999;
  Number eps = 1e-8;
  Number eps_root = 0;
  Number threshold = 5;
  bool nesterov = false;
};
// As scale_by_adam, rectified: the second moment counts once its variance is known.
Transformation scale_by_radam(const ScaleByRadamOptions& options = {});

enum class LionMode { hard, smooth, refined };
struct ScaleByLionOptions {
  Number b1 = 0.9;
  Number b2 = 0.99;
  std::optional<DType> mu_dtype = {};
  LionMode mode = LionMode::hard;  // smooth takes a tanh, refined leaves small ones
  Number smooth_beta = 1;
};
// The sign of an average of the gradient and its first moment.
Transformation scale_by_lion(const ScaleByLionOptions& options = {});

struct ScaleByAdanOptions {
  Number b1 = 0.98;
  Number b2 = 0.92;
  Number b3 = 0.99;
  Number eps = 1e-8;
  Number eps_root = 0;
};
// Moments of the gradient, of its change, and of their squared sum.
Transformation scale_by_adan(const ScaleByAdanOptions& options = {});

struct ScaleByAdemamixOptions {
  Number b1 = 0.9;
  Number b2 = 0.999;
  Number b3 = 0.9999;
  Number alpha = 6;
  Number eps = 1e-8;
  Number eps_root = 0;
  std::optional<DType> mu_dtype = {};
};
// A fast and a slow first moment over the root of the second. b3 and alpha are often schedules.
Transformation scale_by_ademamix(const ScaleByAdemamixOptions& options = {});

struct ScaleBySimplifiedAdemamixOptions {
  Number b1 = 0.99;
  Number b2 = 0.95;
  Number alpha = 0;
  Number eps = 1e-8;
  Number eps_root = 0;
};
// AdEMAMix with one accumulator, to which alpha times the gradient is added.
Transformation scale_by_simplified_ademamix(const ScaleBySimplifiedAdemamixOptions& options = {});

struct ScaleByAdoptOptions {
  Number b1 = 0.9;
  Number b2 = 0.9999;
  Number eps = 1e-6;
  std::optional<DType> mu_dtype = {};
  bool nesterov = false;
  bool use_clipping = true;
  std::optional<Schedule> clip_value_fn = {};  // the bound by the number of steps: its fourth root
};
// The gradient is divided by the second moment before it, clipped, and then averaged.
Transformation scale_by_adopt(const ScaleByAdoptOptions& options = {});

}  // namespace plait::optim
