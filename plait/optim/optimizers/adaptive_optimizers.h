// Steps divided by a norm of past gradients, for each element, or for rows and columns, as
// torch.optim's; and Muon, whose steps are orthogonalised.
#pragma once

#include <optional>
#include <vector>

#include "plait/optim/optimizers/optimizer_state.h"

namespace plait::optim {

struct AdagradOptions {
  Number lr = 1e-2;
  Number lr_decay = 0;
  Number weight_decay = 0;
  Number initial_accumulator_value = 0;
  Number eps = 1e-10;
  bool maximize = false;
  std::vector<Group> groups = {};
};
OptimizerSettings settings_of(const AdagradOptions& options);
// Steps divided by the root of the sum of all squared gradients, the state `sum`.
template <class Model>
using Adagrad = OptimizerOf<Model, AdagradOptions>;

struct AdadeltaOptions {
  Number lr = 1;
  Number rho = 0.9;
  Number eps = 1e-6;
  Number weight_decay = 0;
  bool maximize = false;
  std::vector<Group> groups = {};
};
OptimizerSettings settings_of(const AdadeltaOptions& options);
// Steps with the ratio of the root mean squares of past steps and of past gradients.
template <class Model>
using Adadelta = OptimizerOf<Model, AdadeltaOptions>;

struct RMSpropOptions {
  Number lr = 1e-2;
  Number alpha = 0.99;
  Number eps = 1e-8;
  Number weight_decay = 0;
  Number momentum = 0;
  bool centered = false;  // divides by the standard deviation
  bool maximize = false;
  std::vector<Group> groups = {};
};
OptimizerSettings settings_of(const RMSpropOptions& options);
// Steps divided by the root of the mean of squared gradients.
template <class Model>
using RMSprop = OptimizerOf<Model, RMSpropOptions>;

struct AdafactorOptions {
  Number lr = 1e-2;
  Number beta2_decay = -0.8;
  std::optional<Number> eps1 = {};  // by default the eps of the dtype
  Number eps2 = 1e-3;
  Number d = 1;  // the greatest root mean square of an update
  Number weight_decay = 0;
  bool maximize = false;
  std::vector<Group> groups = {};
};
OptimizerSettings settings_of(const AdafactorOptions& options);
// Steps divided by an estimate of the root mean squares of gradients, which keeps one number for
// each row and each column of a matrix, `row_var` and `col_var`; vectors have `variance`.
template <class Model>
using Adafactor = OptimizerOf<Model, AdafactorOptions>;

enum class MuonRate { original, match_rms_adamw, spectral_unclamped };

struct MuonOptions {
  Number lr = 1e-3;
  Number weight_decay = 0.1;
  Number momentum = 0.95;
  bool nesterov = true;
  Number a = 3.4445, b = -4.775, c = 2.0315;  // ns_coefficients
  Number eps = 1e-7;
  int64_t ns_steps = 5;
  MuonRate adjust_lr_fn = MuonRate::original;  // how the rate depends on the sizes of a matrix
  DType ns_dtype = DType::bf16;                // the iterations are rounded to it
  bool maximize = false;
  std::vector<Group> groups = {};
};
OptimizerSettings settings_of(const MuonOptions& options);
// Gradient descent with momentum, whose steps are orthogonalised by Newton-Schulz iterations. All
// parameters are matrices.
template <class Model>
using Muon = OptimizerOf<Model, MuonOptions>;

}  // namespace plait::optim
