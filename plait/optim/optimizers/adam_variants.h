// Adam with another norm, another momentum, or a correction for the first steps; and optimizers
// whose step of each parameter is in proportion to its norm.
#pragma once

#include <vector>

#include "plait/optim/optimizers/optimizer_state.h"

namespace plait::optim {

struct AdamaxOptions {
  Number lr = 2e-3;
  Number beta1 = 0.9;
  Number beta2 = 0.999;
  Number eps = 1e-8;
  Number weight_decay = 0;
  bool maximize = false;
  std::vector<Group> groups = {};
};
OptimizerSettings settings_of(const AdamaxOptions& options);
// Adam with the maximum norm of past gradients, `exp_inf`, instead of the mean of their squares.
template <class Model>
using Adamax = OptimizerOf<Model, AdamaxOptions>;

struct NAdamOptions {
  Number lr = 2e-3;
  Number beta1 = 0.9;
  Number beta2 = 0.999;
  Number eps = 1e-8;
  Number weight_decay = 0;
  Number momentum_decay = 4e-3;
  bool decoupled_weight_decay = false;
  bool maximize = false;
  std::vector<Group> groups = {};
};
OptimizerSettings settings_of(const NAdamOptions& options);
// Adam with Nesterov's momentum.
template <class Model>
using NAdam = OptimizerOf<Model, NAdamOptions>;

struct RAdamOptions {
  Number lr = 1e-3;
  Number beta1 = 0.9;
  Number beta2 = 0.999;
  Number eps = 1e-8;
  Number weight_decay = 0;
  bool decoupled_weight_decay = false;
  bool maximize = false;
  std::vector<Group> groups = {};
};
OptimizerSettings settings_of(const RAdamOptions& options);
// Adam whose steps are corrected for the variance of the second moments, and are those of gradient
// descent with momentum at first.
template <class Model>
using RAdam = OptimizerOf<Model, RAdamOptions>;

struct SparseAdamOptions {
  Number lr = 1e-3;
  Number beta1 = 0.9;
  Number beta2 = 0.999;
  Number eps = 1e-8;
  bool maximize = false;
  std::vector<Group> groups = {};
};
OptimizerSettings settings_of(const SparseAdamOptions& options);
// Adam without weight decay, and with eps added before the correction of the bias. Gradients are
// dense.
template <class Model>
using SparseAdam = OptimizerOf<Model, SparseAdamOptions>;

struct LAMBOptions {
  Number lr = 1e-3;
  Number beta1 = 0.9;
  Number beta2 = 0.999;
  Number eps = 1e-6;
  Number weight_decay = 0.01;  // decoupled
  bool maximize = false;
  std::vector<Group> groups = {};
};
OptimizerSettings settings_of(const LAMBOptions& options);
// Adam whose steps have the norm of the parameter times lr.
template <class Model>
using LAMB = OptimizerOf<Model, LAMBOptions>;

struct LARSOptions {
  Number lr = 1e-3;
  Number momentum = 0.9;
  Number weight_decay = 0;
  Number trust_coefficient = 1e-3;
  Number eps = 0;
  bool nesterov = false;
  bool maximize = false;
  std::vector<Group> groups = {};
};
OptimizerSettings settings_of(const LARSOptions& options);
// Gradient descent with momentum, whose steps have the norm of the parameter times lr ·
// trust_coefficient.
template <class Model>
using LARS = OptimizerOf<Model, LARSOptions>;

}  // namespace plait::optim
