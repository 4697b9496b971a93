#include "plait/nn/layers/dropout_layers.h"

#include "plait/core/error.h"
#include "plait/ops/call.h"
#include "plait/ops/inside/random/random_functions.h"

namespace plait::nn {

namespace {

void check(const DropPath& layer, const Tensor& x) {
  if (!(layer.drop_prob >= 0 && layer.drop_prob <= 1)) {
    throw ValueError("drop_prob is {}, expected 0 to 1", layer.drop_prob);
  }
  if (x.rank() == 0) throw ShapeError("{} has no dimension of samples", x.type().text());
}

}  // namespace

Tensor DropPath::operator()(const Tensor& x, const Tensor& key) const {
  const Call call("nn::DropPath", x, key);
  if (!training || drop_prob == 0) return x;
  check(*this, x);
  if (scale_by_keep) return drop_path(x, drop_prob, key);
  Shape samples{x.shape(0)};
  while (samples.rank() < x.rank()) samples.append(1);
  random::expect_one_key("nn::DropPath", key);
  return dropout(x, random::bernoulli(key, 1 - drop_prob, samples), 0.);
}

Tensor DropPath::operator()(const Tensor& x) const {
  const Call call("nn::DropPath", x);
  if (!training || drop_prob == 0) return x;
  return random::from_stream([&](const Tensor& key) { return (*this)(x, key); });
}

}  // namespace plait::nn
