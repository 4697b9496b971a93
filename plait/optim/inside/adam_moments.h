// Common to Adam and its variants: the moments of the gradient.
#pragma once

#include <utility>
#include <vector>

#include "plait/optim/inside/optimizer_rule.h"

namespace plait::optim {

OptimizerRule::Names adam_states(const WeightNumbers& n, const Tensor& parameter);
// Adds the corrections of the moments' bias, and what decoupled weight decay leaves.
void add_moments(Tensors& n, const Tensor& steps);
// The moments after a gradient.
void average(const WeightNumbers& n, const Tensor& gradient, Tensor& mean, Tensor& square);
// The parameter and the gradient after weight decay of either kind.
std::pair<Tensor, Tensor> with_decay(const WeightNumbers& n, const Tensor& value,
                                     const Tensor& gradient);

// The numbers of an optimizer of the family.
template <class Options>
std::vector<NamedNumber> adam_numbers(const Options& options) {
  return {positive("lr", options.lr), decay_number("beta1", options.beta1),
          decay_number("beta2", options.beta2), positive("eps", options.eps)};
}
template <class Options>
std::vector<NamedNumber> decayed_adam_numbers(const Options& options) {
  auto numbers = adam_numbers(options);
  numbers.push_back(positive("weight_decay", options.weight_decay));
  return numbers;
}

}  // namespace plait::optim
