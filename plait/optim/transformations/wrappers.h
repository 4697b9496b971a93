// Transformations of transformations that keep parameters of their own: lookahead, schedule-free,
// sharpness-aware, mechanic; and the scale of an f16 loss.
#pragma once

#include <optional>

#include "plait/optim/transformations/transformation.h"

namespace plait::optim {

// Every sync_period steps, slow parameters move towards the parameters, which then continue from
// there. The slow ones are in the state, kept["slow"].
Transformation lookahead(Transformation fast_optimizer, int64_t sync_period, Number slow_step_size,
                         bool reset_state = false);

struct ScheduleFreeOptions {
  Number b1 = 0.9;
  Number weight_lr_power = 2;
  std::optional<DType> state_dtype = {};
};
// The parameters are an average of a sequence z, which the transformation moves, and of its mean,
// which schedule_free_eval_params returns.
Transformation schedule_free(Transformation base_optimizer, Number learning_rate,
                             const ScheduleFreeOptions& options = {});
// The parameters to evaluate a model with, from the state of schedule_free and the parameters in
// training.
Tensors schedule_free_eval_params(const State& state, const Tensors& parameters);

struct ScheduleFreeSgdOptions {
  std::optional<int64_t> warmup_steps = {};
  Number b1 = 0.9;
  std::optional<Number> weight_decay = {};
  Number weight_lr_power = 2;
  std::optional<DType> state_dtype = {};
};
Transformation schedule_free_sgd(double learning_rate = 1,
                                 const ScheduleFreeSgdOptions& options = {});
struct ScheduleFreeAdamwOptions {
  std::optional<int64_t> warmup_steps = {};
  Number b1 = 0.9;
  Number b2 = 0.999;
  Number eps = 1e-8;
  Number weight_decay = 0;
  Number weight_lr_power = 2;
  std::optional<DType> state_dtype = {};
};
Transformation schedule_free_adamw(double learning_rate = 0.0025,
                                   const ScheduleFreeAdamwOptions& options = {});

struct SamOptions {
  int64_t sync_period = 2;
  bool reset_state = true;
  bool opaque_mode = false;  // one update does all steps; it needs {.grad_fn = …}
};
// Sharpness-aware minimisation: the gradient is taken where adv_optimizer ascends to, for
// sync_period - 1 steps, and applied where that began.
Transformation sam(Transformation optimizer, Transformation adv_optimizer,
                   const SamOptions& options = {});

struct MechanizeOptions {
  Number weight_decay = 0.01;
  Number eps = 1e-8;
  Number s_init = 1e-6;
  int64_t num_betas = 6;
};
// Mechanic: learns the rate of a transformation.
Transformation mechanize(Transformation base_optimizer, const MechanizeOptions& options = {});

struct LossScaleOptions {
  double initial_scale = 65536;
  Number growth_interval = 2000;
  Number growth_factor = 2;
  Number backoff_factor = 0.5;
  double min_scale = 1;
};
// Dynamic scaling of an f16 loss: the loss is multiplied by optimizer.loss_scale(), and `update`
// divides the gradients by it. A gradient that is not finite skips the step and multiplies the
// scale by backoff_factor, down to min_scale; after growth_interval good steps the scale grows.
Transformation loss_scale(Transformation inner, const LossScaleOptions& options = {});

}  // namespace plait::optim
