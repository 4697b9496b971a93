// Transformations that scale updates: by numbers, schedules, norms of the parameters; and those
// that accumulate them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plait/optim/transformations/combining.h"
#include "plait/optim/transformations/transformation.h"

namespace plait::optim {

Transformation scale(Number step_size);                   // multiplies by a number
Transformation scale_by_schedule(Schedule step_size_fn);  // by a function of the number of steps
// Multiplies by minus the rate; without a rate updates pass unchanged.
Transformation scale_by_learning_rate(std::optional<Number> learning_rate, bool flip_sign = true);
// Adds weight_decay times the parameter to its update. A mask says to which parameters, as in
// masked.
Transformation add_decayed_weights(Number weight_decay = 0, std::optional<Mask> mask = {});
Transformation scale_by_sign();  // the signs of the updates
// Subtracts from the updates of matrices and larger tensors their mean over all axes but the first.
Transformation centralize();
// Multiplies each update by the norm of its parameter, or by the root of its mean square.
Transformation scale_by_param_block_norm(Number min_scale = 1e-3);
Transformation scale_by_param_block_rms(Number min_scale = 1e-3);
// Multiplies each update by the norm of its parameter over its own norm.
Transformation scale_by_trust_ratio(Number min_norm = 0, Number trust_coefficient = 1,
                                    Number eps = 0);
// Divides the updates by their common norm.
Transformation normalize_by_update_norm(Number scale_factor = 1, Number eps = 1e-6);
Transformation normalize();

enum class PolyakVariant { sps, sps_plus };
// Scales the updates by the Polyak rate: the loss above f_min over the squared norm. `update` needs
// the loss: {.value = loss}.
Transformation scale_by_polyak(Number f_min = 0, Number max_learning_rate = 1, Number eps = 0,
                               PolyakVariant variant = PolyakVariant::sps);

// Momentum: the sum of all updates, decayed.
Transformation trace(Number decay, bool nesterov = false,
                     std::optional<DType> accumulator_dtype = {});
// The exponential moving average of the updates, without bias.
Transformation ema(Number decay, bool debias = true, std::optional<DType> accumulator_dtype = {});

}  // namespace plait::optim
