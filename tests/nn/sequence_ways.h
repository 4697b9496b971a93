// Checks that layers for sequences share: one layer in all ways to run it, and with symbolic sizes.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/tensor.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/derivatives/remat.h"
#include "plait/transform/jit.h"
#include "plait/transform/vmap.h"

namespace plait::sequence_ways {

inline Tensor drawn(uint64_t seed, const Shape& shape) {
  return random::normal(random::key(seed), shape, 0., 1., DType::f64);
}

inline double greatest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  const Tensor apart = absolute(a - b);
  return a.shape().element_count() == Dim(0) ? 0 : max(apart).item<double>();
}

inline void expect_close(std::span<const Tensor> found, std::span<const Tensor> wanted,
                         const std::string& what, double tolerance = 1e-11) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].shape(), wanted[i].shape()) << what << " " << i;
    if (!is_inexact(found[i].dtype())) continue;
    EXPECT_LT(greatest_difference(found[i], wanted[i]), tolerance) << what << " " << i;
  }
}

// The floating tensors of a result, in order.
template <class Tree>
std::vector<Tensor> floats_of(const Tree& tree) {
  std::vector<Tensor> found;
  for (const Tensor& each : tensors_of(tree)) {
    if (is_inexact(each.dtype())) found.push_back(each);
  }
  return found;
}

// A number that depends on all numbers of a result, on each in another way.
template <class Call>
struct Loss {
  Call call;

  template <class Layer>
  Tensor operator()(const Layer& layer, const Tensor& x) const {
    Tensor total = zeros({}, DType::f64);
    for (const Tensor& each : floats_of(call(layer, x))) {
      const Tensor places = astype(iota(each.shape().element_count()), DType::f64);
      total = total + sum(reshape(cos(places + 1), each.shape()) * each);
    }
    return total;
  }
};

template <class Function>
struct Floats {
  Function function;

  template <class... Arguments>
  std::vector<Tensor> operator()(const Arguments&... arguments) const {
    return floats_of(function(arguments...));
  }
};

// The derivative of the gradient along one direction is that by differences.
template <class Layer, class Gradient>
void expect_second_derivative(const Layer& layer, const Tensor& x, const Gradient& gradient) {
  const auto way_of = [](const Tensor& leaf) {
    const Tensor places = astype(iota(leaf.shape().element_count()), DType::f64);
    return reshape(cos(places * 2. + 3), leaf.shape());
  };
  const Loss loss{gradient};
  const auto at = [&](double step) {
    const auto moved =
        map_leaves(layer, [&](const Tensor& leaf) { return leaf + way_of(leaf) * step; });
    return loss(moved, x + way_of(x) * step).template item<double>();
  };
  double found = 0;
  for (const Tensor& slope : tensors_of(grad<0, 1>(loss)(layer, x))) {
    found += sum(slope * way_of(slope)).template item<double>();
  }
  const double step = 1e-5, wanted = (at(step) - at(-step)) / (2 * step);
  EXPECT_NEAR(found, wanted, 1e-6 * std::max(1., std::abs(wanted)));
}

// Results and gradients of call(layer, x) are the same eagerly, jitted, rematerialised, and for a
// stack of layers by vmap; the derivative of the gradient is right. make(key) returns a layer.
template <class Make, class Call>
void expect_all_ways(const Make& make, const Call& call, const Tensor& x,
                     double tolerance = 1e-11) {
  const auto layer = make(random::key(1)), other = make(random::key(2));
  const Floats results{call};
  const Loss loss{call};
  const Floats slopes{grad<0, 1>(loss)};
  const std::vector<Tensor> wanted = results(layer, x), gradient = slopes(layer, x);
  expect_close(jit(results)(layer, x), wanted, "jit", tolerance);
  expect_close(jit(slopes)(layer, x), gradient, "gradient in jit", tolerance);
  expect_close(Floats{grad<0, 1>(jit(loss))}(layer, x), gradient, "gradient of jit", tolerance);
  expect_close(Floats{grad<0, 1>(remat(loss))}(layer, x), gradient, "remat", tolerance);
  expect_second_derivative(layer, x, grad<0, 1>(loss));
  const auto stack_of_both = map_leaves(
      [](const Tensor& a, const Tensor& b) { return stack(std::vector{a, b}); }, layer, other);
  const Tensor inputs = stack(std::vector{x, x + 0.1});
  const std::vector<Tensor> together = vmap(results)(stack_of_both, inputs);
  const std::vector<Tensor> slopes_together = vmap(slopes)(stack_of_both, inputs);
  const auto samples = [](std::vector<Tensor> all, int64_t sample) {
    for (Tensor& each : all) each = each[sample];
    return all;
  };
  expect_close(samples(together, 0), wanted, "vmap", tolerance);
  expect_close(samples(together, 1), results(other, x + 0.1), "vmap", tolerance);
  expect_close(samples(slopes_together, 0), gradient, "vmap of gradient", tolerance);
  expect_close(samples(slopes_together, 1), slopes(other, x + 0.1), "vmap of gradient", tolerance);
}

// A jitted call gives what it gives eagerly for all inputs, from at most two records: sizes are
// symbols in the second one.
template <class Layer, class Call>
void expect_symbolic_sizes(const Layer& layer, const Call& call, const std::vector<Tensor>& inputs,
                           double tolerance = 1e-11) {
  const Floats results{call};
  const auto jitted = jit(results);
  for (const Tensor& x : inputs) {
    expect_close(jitted(layer, x), results(layer, x), "size " + x.shape().text(), tolerance);
  }
  EXPECT_LE(jitted.stats().traces, 2);
}

}  // namespace plait::sequence_ways
