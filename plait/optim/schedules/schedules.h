// Learning rates as functions of the step, with optax's names and arguments, and warmups of further
// kinds:
//
//   const Schedule rate = optim::warmup_cosine_decay_schedule(0, 1e-3, 100, 1000);
//   optim::AdamW optimizer(model, {.lr = rate});
//
// ValueError for numbers of steps that are not above 0, where there must be some.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "plait/optim/number.h"

namespace plait::optim {

// Schedules one after another: each is called with the steps since its boundary.
Schedule join_schedules(const std::vector<Schedule>& schedules,
                        const std::vector<double>& boundaries);
// The same number at each step.
Schedule constant_schedule(double value);
// From init_value to end_value over transition_steps, which begin at transition_begin:
// end + (init - end) (1 - t)^power.
Schedule polynomial_schedule(double init_value, double end_value, double power,
                             double transition_steps, double transition_begin = 0);
Schedule linear_schedule(double init_value, double end_value, double transition_steps,
                         double transition_begin = 0);

struct ExponentialDecayOptions {
  double transition_begin = 0;
  bool staircase = false;                // whole powers only
  std::optional<double> end_value = {};  // the limit
};
// init_value · decay_rate^(step / transition_steps).
Schedule exponential_decay(double init_value, double transition_steps, double decay_rate,
                           const ExponentialDecayOptions& options = {});
// init_value · exp(-decay_rate · step / transition_steps).
Schedule natural_exp_decay(double init_value, double decay_rate, double transition_steps,
                           bool staircase = false);
// From init_value to alpha · init_value along half a cosine, over decay_steps.
Schedule cosine_decay_schedule(double init_value, double decay_steps, double alpha = 0,
                               double exponent = 1);
// Rises along a line to peak_value over warmup_steps, then falls as peak_value ·
// sqrt(warmup_steps / step).
Schedule inverse_sqrt_schedule(double peak_value, double warmup_steps, double init_value = 0);

using BoundariesAndScales = std::map<double, double>;  // a factor from each step on
enum class Shape1d { linear, cosine };                 // shape of a curve between two values
// init_value, multiplied by each scale from its boundary on.
Schedule piecewise_constant_schedule(double init_value,
                                     const BoundariesAndScales& boundaries_and_scales = {});
// Goes through init_value, multiplied by each scale at its boundary, along lines or half cosines.
Schedule piecewise_interpolate_schedule(Shape1d interpolate_type, double init_value,
                                        const BoundariesAndScales& boundaries_and_scales = {});

struct OneCycleOptions {
  double pct_start = 0.3;   // part of the steps until the peak
  double pct_final = 0.85;  // part of them until the beginning is reached again; linear only
  double div_factor = 25;
  double final_div_factor = 1e4;
};
// Rises from peak_value / div_factor to the peak, falls back until pct_final, and then to the
// beginning divided by final_div_factor.
Schedule linear_onecycle_schedule(double transition_steps, double peak_value,
                                  const OneCycleOptions& options = {});
// The same along half cosines, falling straight to the end.
Schedule cosine_onecycle_schedule(double transition_steps, double peak_value,
                                  const OneCycleOptions& options = {});

// Rises along a line from init_value to peak_value over warmup_steps, and stays there.
Schedule warmup_constant_schedule(double init_value, double peak_value, double warmup_steps);
// Rises along a line, then falls to end_value along half a cosine until decay_steps, which counts
// all steps.
Schedule warmup_cosine_decay_schedule(double init_value, double peak_value, double warmup_steps,
                                      double decay_steps, double end_value = 0,
                                      double exponent = 1);
Schedule warmup_linear_decay_schedule(double init_value, double peak_value, double warmup_steps,
                                      double decay_steps, double end_value = 0);
// Rises along a line, followed by exponential_decay.
Schedule warmup_exponential_decay_schedule(double init_value, double peak_value,
                                           double warmup_steps, double transition_steps,
                                           double decay_rate,
                                           const ExponentialDecayOptions& options = {});

struct WarmupStableDecayOptions {
  double init_value = 0;
  double end_value = 0;
  Shape1d shape = Shape1d::linear;
};
// Rises along a line to peak_value, stays there for stable_steps, and falls over decay_steps.
Schedule warmup_stable_decay_schedule(double peak_value, double warmup_steps, double stable_steps,
                                      double decay_steps,
                                      const WarmupStableDecayOptions& options = {});

struct SgdrCycle {  // arguments of warmup_cosine_decay_schedule
  double init_value = 0, peak_value = 0, warmup_steps = 0, decay_steps = 0, end_value = 0,
         exponent = 1;
};
// Several warmup_cosine_decay_schedules one after another.
Schedule sgdr_schedule(const std::vector<SgdrCycle>& cycles);

}  // namespace plait::optim
