// A small model, its loss and its steps, for the tests of optimizers.
#pragma once

#include <tuple>
#include <utility>

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/transform/derivatives/grad.h"

namespace plait::optim_tests {

struct Layer {
  Tensor weight = ones({2, 2}, DType::f64);
  Tensor bias = ones({2}, DType::f64);
};
struct Net {
  Layer layer = {};
  Tensor head = ones({2}, DType::f64);
};

inline Tensor loss_of(const Net& net, const Tensor& x) {
  const Tensor hidden = tanh(matmul(x, net.layer.weight) + net.layer.bias);
  return mean(square(matmul(hidden, net.head) - 1.));
}
inline Tensor batch() { return reshape(sin(astype(iota(24), DType::f64)), {12, 2}); }

inline double at(const Tensor& x, int64_t i) { return x[i].item<double>(); }
inline double first(const Tensor& x) { return flatten(x)[0].item<double>(); }
inline Tensor number(double value) { return full({}, value, DType::f64); }

template <class Optimizer>
std::pair<Net, Optimizer> step(const Net& net, const Optimizer& optimizer, const Tensor& x) {
  return optimizer.update(net, grad(loss_of)(net, x));
}

template <class Optimizer>
Net trained(Net net, Optimizer optimizer, int steps) {
  for (int i = 0; i < steps; ++i) std::tie(net, optimizer) = step(net, optimizer, batch());
  return net;
}

}  // namespace plait::optim_tests
