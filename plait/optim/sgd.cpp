#include "plait/optim/sgd.h"

#include "plait/core/error.h"
#include "plait/ops/elementwise/elementwise.h"

namespace plait::optim {

SgdRule rule_of(const SgdOptions& options) {
  expect_option("optim::Sgd", "momentum", options.momentum);
  expect_option("optim::Sgd", "weight_decay", options.weight_decay);
  if (options.nesterov && options.momentum == 0) {
    throw ValueError("optim::Sgd: nesterov needs a momentum")
        .at(Location::of_caller())
        .hint("pass .momentum = 0.9");
  }
  return {.momentum = options.momentum,
          .weight_decay = options.weight_decay,
          .nesterov = options.nesterov};
}

void sgd_step(const SgdRule& rule, const Tensor& rate, std::span<Tensor* const> values,
              std::span<const Tensor> gradients, std::span<Tensor* const> velocities) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!is_trained(*values[i])) continue;
    const Parameter parameter(*values[i], gradients[i]);
    Tensor direction = parameter.gradient();
    if (rule.weight_decay != 0) direction = direction + rule.weight_decay * parameter.value();
    if (!velocities.empty()) {
      const Tensor velocity = rule.momentum * parameter.of(*velocities[i]) + direction;
      *velocities[i] = parameter.kept(velocity);
      direction = rule.nesterov ? direction + rule.momentum * velocity : velocity;
    }
    *values[i] = parameter.kept(parameter.value() - parameter.of(rate) * direction);
  }
}

}  // namespace plait::optim
