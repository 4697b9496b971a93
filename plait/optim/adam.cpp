#include "plait/optim/adam.h"

#include <cmath>

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"

namespace plait::optim {
namespace {

template <class Options>
AdamRule checked_rule(std::string_view name, const Options& options, bool is_decoupled) {
  expect_option(name, "beta1", options.beta1, 1);
  expect_option(name, "beta2", options.beta2, 1);
  expect_option(name, "eps", options.eps);
  expect_option(name, "weight_decay", options.weight_decay);
  return {.name = name,
          .beta1 = options.beta1,
          .beta2 = options.beta2,
          .eps = options.eps,
          .weight_decay = options.weight_decay,
          .is_decoupled = is_decoupled};
}

// 1 − β^steps: the bias correction of an exponential moving average.
Tensor weight_so_far(double beta, const Tensor& steps) {
  return 1 - power(beta, astype(steps, DType::f64));
}

void expect_real(const AdamRule& rule, const Tensor& value) {
  if (!is_complex(value.dtype())) return;
  throw TypeError("{}: a weight is {}, expected real numbers", rule.name, value.type().text())
      .at(Location::of_caller())
      .hint("keep real and imaginary parts as separate weights, or use optim::Sgd");
}

}  // namespace

AdamRule rule_of(const AdamOptions& options) { return checked_rule("optim::Adam", options, false); }
AdamRule rule_of(const AdamWOptions& options) {
  return checked_rule("optim::AdamW", options, true);
}

void adam_step(const AdamRule& rule, const Tensor& rate, const Tensor& steps,
               std::span<Tensor* const> values, std::span<const Tensor> gradients,
               std::span<Tensor* const> means, std::span<Tensor* const> squares) {
  const Tensor step_size = rate / weight_so_far(rule.beta1, steps);
  const Tensor square_scale = sqrt(weight_so_far(rule.beta2, steps));
  const Tensor left = 1 - rate * rule.weight_decay;  // factor of decoupled weight decay
  for (size_t i = 0; i < values.size(); ++i) {
    if (!is_trained(*values[i])) continue;
    expect_real(rule, *values[i]);
    const Parameter parameter(*values[i], gradients[i]);
    Tensor value = parameter.value(), gradient = parameter.gradient();
    if (rule.weight_decay != 0) {
      if (rule.is_decoupled) {
        value = value * parameter.of(left);
      } else {
        gradient = gradient + rule.weight_decay * value;
      }
    }
    const Tensor before = parameter.of(*means[i]);
    const Tensor mean = before + (1 - rule.beta1) * (gradient - before);
    const Tensor mean_square =
        rule.beta2 * parameter.of(*squares[i]) + (1 - rule.beta2) * square(gradient);
    const Tensor scale = sqrt(mean_square) / parameter.of(square_scale) + rule.eps;
    *means[i] = parameter.kept(mean);
    *squares[i] = parameter.kept(mean_square);
    *values[i] = parameter.kept(value - parameter.of(step_size) * mean / scale);
  }
}

}  // namespace plait::optim
