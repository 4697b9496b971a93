// Transformations that find their rate: Prodigy, D-Adaptation, DoG, MoMo.
#pragma once

#include <optional>

#include "plait/optim/transformations/descents.h"
#include "plait/optim/transformations/transformation.h"

namespace plait::optim {

struct ProdigyOptions {
  Number beta1 = 0.9;
  Number beta2 = 0.999;
  std::optional<Number> beta3 = {};  // √beta2 by default
  Number eps = 1e-8;
  Number estim_lr0 = 1e-6;
  Number estim_lr_coef = 1;
  Number weight_decay = 0;
  bool safeguard_warmup = false;
};
// Adam that estimates its rate; learning_rate scales the estimate.
Transformation prodigy(Number learning_rate = 1, const ProdigyOptions& options = {});

struct DadaptAdamwOptions {
  Number beta1 = 0.9;
  Number beta2 = 0.999;
  Number eps = 1e-8;
  Number estim_lr0 = 1e-6;
  Number weight_decay = 0;
};
// AdamW that estimates its rate by D-Adaptation.
Transformation dadapt_adamw(Number learning_rate = 1, const DadaptAdamwOptions& options = {});

enum class DogStep { heuristic, distance, learning_rate };
struct DogOptions {
  DogStep init_step = DogStep::heuristic;
  Number init_value = 1e-6;
  Number eps = 1e-8;
  std::optional<Number> weight_decay = {};
  std::optional<Mask> mask = {};
};
// The rate is the largest distance from the start over the root of the sum of squared gradients.
Transformation dog(Number learning_rate = 1, const DogOptions& options = {});

struct DowgOptions {
  std::optional<Number> init_estim_sq_dist = {};
  Number eps = 1e-4;
  std::optional<Number> weight_decay = {};
  std::optional<Mask> mask = {};
};
// DoG with gradients weighted by the distance.
Transformation dowg(Number learning_rate = 1, const DowgOptions& options = {});

struct MomoOptions {
  Number beta = 0.9;
  Number lower_bound = 0;
  Number weight_decay = 0;
  bool adapt_lower_bound = false;
};
// Momentum with a rate from the averaged loss above a lower bound; `update` needs the loss:
// {.value = loss}.
Transformation momo(Number learning_rate = 1, const MomoOptions& options = {});
struct MomoAdamOptions {
  Number b1 = 0.9;
  Number b2 = 0.999;
  Number eps = 1e-8;
  Number lower_bound = 0;
  Number weight_decay = 0;
  bool adapt_lower_bound = false;
};
// The same with Adam's preconditioner.
Transformation momo_adam(Number learning_rate = 0.01, const MomoAdamOptions& options = {});

}  // namespace plait::optim
