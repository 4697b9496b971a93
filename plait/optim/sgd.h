// Gradient descent: with momentum, averaged, and by the signs of gradients, as torch.optim.SGD,
// ASGD and Rprop; and Lion (Chen et al., 2023).
#pragma once

#include <utility>
#include <vector>

#include "plait/optim/optimizers/optimizer_state.h"

namespace plait::optim {

struct SGDOptions {
  Number lr = 1e-3;
  Number momentum = 0;  // decay of the velocity
  Number dampening =
      0;  // dampening of the momentum: the velocity adds 1 - dampening of the gradient
  Number weight_decay = 0;  // L2 penalty: this times the parameter is added to the gradient
  bool nesterov = false;    // Nesterov momentum
  bool maximize = false;
  std::vector<Group> groups = {};
};
OptimizerSettings settings_of(const SGDOptions& options);  // ValueError for invalid options
// The state with a momentum is `momentum_buffer`.
template <class Model>
using SGD = OptimizerOf<Model, SGDOptions>;

struct ASGDOptions {
  Number lr = 1e-2;
  Number lambd = 1e-4;  // the step size is lr / (1 + lambd · lr · steps)^alpha
  Number alpha = 0.75;
  Number t0 = 1e6;  // averages are those of the steps after it
  Number weight_decay = 0;
  bool maximize = false;
  std::vector<Group> groups = {};
};
OptimizerSettings settings_of(const ASGDOptions& options);
// Averaged gradient descent: the state `ax` has the averages of the parameters.
template <class Model>
using ASGD = OptimizerOf<Model, ASGDOptions>;

struct RpropOptions {
  Number lr = 1e-2;  // the first step size
  std::pair<Number, Number> etas = {0.5, 1.2};
  std::pair<Number, Number> step_sizes = {1e-6, 50.};  // the minimum and maximum step size
  bool maximize = false;
  std::vector<Group> groups = {};
};
OptimizerSettings settings_of(const RpropOptions& options);
// Each element has a step size of its own, which grows by the second of etas while its gradient
// keeps its sign, and shrinks by the first when it changes.
template <class Model>
using Rprop = OptimizerOf<Model, RpropOptions>;

struct LionOptions {
  Number lr = 1e-4;
  Number beta1 = 0.9;
  Number beta2 = 0.99;
  Number weight_decay = 0;  // decoupled
  bool maximize = false;
  std::vector<Group> groups = {};
};
OptimizerSettings settings_of(const LionOptions& options);
// Steps by the sign of a mean of gradients.
template <class Model>
using Lion = OptimizerOf<Model, LionOptions>;

}  // namespace plait::optim
