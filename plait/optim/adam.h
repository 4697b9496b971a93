// Adam (Kingma and Ba, 2014), as torch.optim.Adam, and with decoupled weight decay (Loshchilov and
// Hutter, 2017), as torch.optim.AdamW.
#pragma once

#include <vector>

#include "plait/optim/optimizers/optimizer_state.h"

namespace plait::optim {

struct AdamOptions {
  Number lr = 1e-3;
  Number beta1 = 0.9;    // decay of the mean of gradients
  Number beta2 = 0.999;  // decay of the mean of their squares
  Number eps = 1e-8;
  Number weight_decay = 0;  // L2 penalty: this times the parameter is added to the gradient
  bool amsgrad = false;     // steps by the maximum of all means of squares so far
  bool maximize = false;
  bool decoupled_weight_decay = false;
  std::vector<Group> groups = {};
};
OptimizerSettings settings_of(const AdamOptions& options);  // ValueError for invalid options
// The states are `exp_avg` and `exp_avg_sq`; with amsgrad `max_exp_avg_sq`, too.
template <class Model>
using Adam = OptimizerOf<Model, AdamOptions>;

struct AdamWOptions {
  Number lr = 1e-3;
  Number beta1 = 0.9;
  Number beta2 = 0.999;
  Number eps = 1e-8;
  Number weight_decay = 0.01;  // decoupled: each parameter shrinks by this times the rate
  bool amsgrad = false;
  bool maximize = false;
  std::vector<Group> groups = {};
};
OptimizerSettings settings_of(const AdamWOptions& options);
template <class Model>
using AdamW = OptimizerOf<Model, AdamWOptions>;

}  // namespace plait::optim
