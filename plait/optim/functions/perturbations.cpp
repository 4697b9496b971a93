#include "plait/optim/functions/perturbations.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"

namespace plait::optim {

PerturbationNoise gumbel_noise() {
  return {.sample = [](const Tensor& key, const Shape& shape,
                       DType dtype) { return random::gumbel(key, shape, dtype); },
          .log_prob = [](const Tensor& z) { return -z - exp(-z); }};
}
PerturbationNoise normal_noise() {
  return {.sample = [](const Tensor& key, const Shape& shape,
                       DType dtype) { return random::normal(key, shape, 0., 1., dtype); },
          .log_prob = [](const Tensor& z) { return -0.5 * square(z); }};
}

void expect_perturbed(const PerturbedOptions& options) {
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  if (options.num_samples < 1 || options.num_samples > kMost) {
    throw ValueError("optim::make_perturbed_fun: num_samples is {}, expected 1 to {}",
                     options.num_samples, kMost)
        .at(Location::of_caller());
  }
  options.sigma.expect_within("optim::make_perturbed_fun: sigma", kAboveZero, kInfinity);
  if (options.noise.sample && options.noise.log_prob) return;
  throw ValueError("optim::make_perturbed_fun: noise lacks a function")
      .at(Location::of_caller())
      .hint("optim::gumbel_noise() and optim::normal_noise() have both");
}

namespace perturbations {

void expect_floats(std::span<const Tensor> x) {
  for (const Tensor& each : x) {
    if (is_inexact(each.dtype()) && !is_complex(each.dtype())) continue;
    throw TypeError("optim::make_perturbed_fun: x has {}, expected real floats", each.type().text())
        .at(Location::of_caller());
  }
  if (!x.empty()) return;
  throw TypeError("optim::make_perturbed_fun: x has no tensors").at(Location::of_caller());
}

Draw draw(const PerturbedOptions& options, const Tensor& key, std::span<const Tensor> x) {
  const Tensor exact = options.sigma.at(no_steps());
  const std::vector<Tensor> keys = unstack(random::split_key(key, static_cast<int64_t>(x.size())));
  Draw made;
  Tensor logarithm;
  for (size_t i = 0; i < x.size(); ++i) {
    const DType dtype = x[i].dtype();
    const Tensor sigma = astype(exact, dtype);
    const Tensor z = options.noise.sample(keys[i], x[i].shape(), dtype);
    made.moved.push_back(stop_gradient(x[i] + sigma * z));
    const Tensor own = sum(options.noise.log_prob((made.moved[i] - x[i]) / sigma));
    logarithm = logarithm ? logarithm + own : own;
  }
  made.one = exp(logarithm - stop_gradient(logarithm));
  return made;
}

}  // namespace perturbations
}  // namespace plait::optim
