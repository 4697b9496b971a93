// PyTorch's learning-rate schedulers as functions of the step. The first argument is the rate,
// instead of an optimizer that has it:
//
//   optim::SGD optimizer(model, {.lr = optim::lr_scheduler::StepLR{.lr = 0.1, .step_size = 30}});
//
// Each struct has the numbers of a schedule; schedule() is that, with the numbers as tensors.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "plait/optim/schedules/schedules.h"

namespace plait::optim::lr_scheduler {

// lr, multiplied by gamma every step_size steps.
struct StepLR {
  double lr, step_size, gamma = 0.1;
  Schedule schedule() const;
  Tensor operator()(const Tensor& step) const { return schedule()(step); }
};

// lr, multiplied by gamma at each milestone.
struct MultiStepLR {
  double lr;
  std::vector<double> milestones;
  double gamma = 0.1;
  Schedule schedule() const;
  Tensor operator()(const Tensor& step) const { return schedule()(step); }
};

// lr · factor for total_iters steps, then lr.
struct ConstantLR {
  double lr, factor = 1. / 3, total_iters = 5;
  Schedule schedule() const;
  Tensor operator()(const Tensor& step) const { return schedule()(step); }
};

// lr, multiplied by a factor that goes from start_factor to end_factor over total_iters steps.
struct LinearLR {
  double lr, start_factor = 1. / 3, end_factor = 1, total_iters = 5;
  Schedule schedule() const;
  Tensor operator()(const Tensor& step) const { return schedule()(step); }
};

// lr · gamma^step.
struct ExponentialLR {
  double lr, gamma;
  Schedule schedule() const;
  Tensor operator()(const Tensor& step) const { return schedule()(step); }
};

// lr · (1 - step / total_iters)^power, and 0 from then on.
struct PolynomialLR {
  double lr, total_iters = 5, power = 1;
  Schedule schedule() const;
  Tensor operator()(const Tensor& step) const { return schedule()(step); }
};

// From lr to eta_min along half a cosine over t_max steps, and back over the next t_max.
struct CosineAnnealingLR {
  double lr, t_max, eta_min = 0;
  Schedule schedule() const;
  Tensor operator()(const Tensor& step) const { return schedule()(step); }
};

// From lr to eta_min along half a cosine over t_0 steps, then again over t_mult times as many, and
// so on.
struct CosineAnnealingWarmRestarts {
  double lr, t_0;
  int t_mult = 1;
  double eta_min = 0;
  Schedule schedule() const;
  Tensor operator()(const Tensor& step) const { return schedule()(step); }
};

enum class CyclicMode { triangular, triangular2, exp_range };

// From base_lr to max_lr over step_size_up steps, and back over step_size_down, again and again.
// The height of a cycle is the same, half of that before, or falls as gamma^step; or scale_fn gives
// it, a function of the cycle, which counts from 1, or of the step. The momentum cycles the other
// way, from max_momentum to base_momentum and back, where it is used:
//
//   optim::SGD optimizer(model, {.lr = cycle, .momentum = cycle.momentum()});
struct CyclicLR {
  double base_lr, max_lr, step_size_up = 2000;
  std::optional<double> step_size_down = {};  // step_size_up by default
  CyclicMode mode = CyclicMode::triangular;
  double gamma = 1;
  std::optional<Schedule> scale_fn = {};
  bool scales_by_iterations = false;  // then scale_fn is a function of the step
  bool cycle_momentum = true;         // false: there is no momentum()
  double base_momentum = 0.8, max_momentum = 0.9;
  Schedule schedule() const;
  Schedule momentum() const;
  Tensor operator()(const Tensor& step) const { return schedule()(step); }
};

// Rises from max_lr / div_factor to max_lr over pct_start of total_steps, and falls to the
// beginning divided by final_div_factor; with three phases it falls back as fast as it rose first.
// The momentum cycles the other way, where it is used:
//
//   optim::AdamW optimizer(model, {.lr = cycle, .beta1 = cycle.momentum()});
struct OneCycleLR {
  double max_lr, total_steps, pct_start = 0.3;
  Shape1d anneal_strategy = Shape1d::cosine;
  double div_factor = 25, final_div_factor = 1e4;
  bool three_phase = false;
  bool cycle_momentum = true;  // false: there is no momentum()
  double base_momentum = 0.85, max_momentum = 0.95;
  Schedule schedule() const;
  Schedule momentum() const;
  Tensor operator()(const Tensor& step) const { return schedule()(step); }
};

// From lr to swa_lr over anneal_epochs steps.
struct SWALR {
  double lr, swa_lr, anneal_epochs = 10;
  Shape1d anneal_strategy = Shape1d::cosine;
  Schedule schedule() const;
  Tensor operator()(const Tensor& step) const { return schedule()(step); }
};

// lr · lr_lambda(step).
struct LambdaLR {
  double lr;
  Schedule lr_lambda;
  Schedule schedule() const;
  Tensor operator()(const Tensor& step) const { return schedule()(step); }
};

// lr · lr_lambda(1) · … · lr_lambda(step), of a single step: a loop over all steps.
struct MultiplicativeLR {
  double lr;
  Schedule lr_lambda;
  Schedule schedule() const;
  Tensor operator()(const Tensor& step) const { return schedule()(step); }
};

// The product of schedules: the first has the rate, and the others that of 1.
struct ChainedScheduler {
  std::vector<Schedule> schedulers;
  Schedule schedule() const;
  Tensor operator()(const Tensor& step) const { return schedule()(step); }
};

// Schedules one after another, each called with the steps since its milestone.
struct SequentialLR {
  std::vector<Schedule> schedulers;
  std::vector<double> milestones;
  Schedule schedule() const;
  Tensor operator()(const Tensor& step) const { return schedule()(step); }
};

enum class PlateauMode { min, max };
enum class ThresholdMode { rel, abs };

struct PlateauOptions {
  PlateauMode mode = PlateauMode::min;
  double factor = 0.1;
  double patience = 10;
  double threshold = 1e-4;
  ThresholdMode threshold_mode = ThresholdMode::rel;
  double cooldown = 0;
  double min_lr = 0;
  double eps = 1e-8;
};

// A learning rate that step(metric) multiplies by a factor when the metric was not better than the
// best one for more than `patience` steps. A value: step returns the next one, also when jitted.
struct ReduceLROnPlateau {
  Tensor lr, factor, patience, threshold, cooldown, min_lr, eps;  // f64[]
  Tensor best;                                                    // f64[]
  Tensor num_bad_epochs;                                          // i64[]
  Tensor cooldown_counter;                                        // f64[]
  PlateauMode mode;
  ThresholdMode threshold_mode;

  static ReduceLROnPlateau init(double lr, const PlateauOptions& options = {});
  [[nodiscard]] ReduceLROnPlateau step(const Operand& metric) const;
};

}  // namespace plait::optim::lr_scheduler
