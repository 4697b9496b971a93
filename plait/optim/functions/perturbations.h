// Functions smoothed by noise, so that they have derivatives: optax's perturbations.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/number.h"
#include "plait/transform/vmap.h"

namespace plait::optim {

// A distribution of noise: how it is drawn, and the logarithm of its density, up to a constant.
struct PerturbationNoise {
  std::function<Tensor(const Tensor& key, const Shape& shape, DType dtype)> sample;
  std::function<Tensor(const Tensor& z)> log_prob;
};
PerturbationNoise gumbel_noise();
PerturbationNoise normal_noise();

struct PerturbedOptions {
  int64_t num_samples = 1000;
  Number sigma = 0.1;
  PerturbationNoise noise = gumbel_noise();
  bool use_baseline = true;  // f(x) is subtracted in derivatives, so that they vary less
};
void expect_perturbed(const PerturbedOptions& options);  // ValueError for bad numbers

namespace perturbations {

// x + sigma z of a draw of noise, without a derivative, and a tensor of 1 that has the derivatives
// of the logarithm of the density there.
struct Draw {
  std::vector<Tensor> moved;
  Tensor one;
};
Draw draw(const PerturbedOptions& options, const Tensor& key, std::span<const Tensor> x);
// TypeError unless the tensors are real floats.
void expect_floats(std::span<const Tensor> x);

}  // namespace perturbations

// A function of a random key and a tree of tensors x: the mean of f(x + sigma z) over samples of
// noise z. Its derivatives, of any order, are estimates by the score function, so f itself needs
// none. It is called by vmap.
//
//   const auto smooth = optim::make_perturbed_fun(hard, {.num_samples = 10'000, .sigma = 1});
//   const Tensor y = smooth(random::key(1), x);
template <class F>
auto make_perturbed_fun(F f, PerturbedOptions options = {}) {
  expect_perturbed(options);
  return [f = std::move(f), options = std::move(options)]<class Tree>(const Tensor& key,
                                                                      const Tree& x) {
    using Result = decltype(f(x));
    const std::vector<Tensor> leaves = tensors_of(x);
    perturbations::expect_floats(leaves);
    const auto of_sample = [&](const Tensor& own) -> Result {
      const perturbations::Draw draw = perturbations::draw(options, own, leaves);
      Result found = map_leaves(Result(f(with_tensors(x, draw.moved))),
                                [&](const Tensor& value) { return draw.one * value; });
      if (!options.use_baseline) return found;
      const auto with_base = [&](const Tensor& value, const Tensor& base) {
        return value + (1 - draw.one) * base;
      };
      return map_leaves(
          with_base, std::move(found),
          Result(f(map_leaves(x, [](const Tensor& each) { return stop_gradient(each); }))));
    };
    return map_leaves(vmap(of_sample)(random::split_key(key, options.num_samples)),
                      [](const Tensor& each) { return mean(each, 0); });
  };
}

}  // namespace plait::optim
