#include "plait/nn/layers/activation_layers.h"

#include "plait/core/error.h"
#include "plait/nn/inside/layer_ranks.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/neural/softmax.h"

namespace plait::nn {
namespace {

// A scalar counts as a vector of one element.
Tensor along(Tensor (*function)(const Tensor&, int64_t), const Tensor& x, int64_t dim) {
  if (x.rank() > 0) return function(x, dim);
  return squeeze(function(expand_dims(x, 0), dim), 0);
}

}  // namespace

Tensor LeakyReLU::operator()(const Tensor& x) const { return leaky_relu(x, negative_slope); }

PReLU PReLU::init(const PReLUOptions& options) {
  const Call call("nn::PReLU");
  expect_number("init", options.init);
  if (options.num_parameters < 1) {
    throw ValueError("num_parameters is {}, expected 1 or more", options.num_parameters);
  }
  return {full({options.num_parameters}, options.init, options.dtype)};
}
Tensor PReLU::operator()(const Tensor& x) const { return prelu(x, weight); }

Tensor RReLU::operator()(const Tensor& x, const Tensor& key) const {
  return rrelu(x, lower, upper, training, key);
}
Tensor RReLU::operator()(const Tensor& x) const { return rrelu(x, lower, upper, training); }

Tensor ELU::operator()(const Tensor& x) const { return elu(x, alpha); }
Tensor CELU::operator()(const Tensor& x) const { return celu(x, alpha); }
Tensor GELU::operator()(const Tensor& x) const { return gelu(x, approximate); }

Tensor Softplus::operator()(const Tensor& x) const {
  const Call call("nn::Softplus", x);
  expect_number("threshold", threshold);
  return where(greater(x * beta, threshold), x, softplus(x, beta));
}

Tensor Softshrink::operator()(const Tensor& x) const { return softshrink(x, lambd); }
Tensor Hardshrink::operator()(const Tensor& x) const { return hardshrink(x, lambd); }
Tensor Hardtanh::operator()(const Tensor& x) const { return hardtanh(x, min_val, max_val); }
Tensor Threshold::operator()(const Tensor& x) const {
  return plait::threshold(x, threshold, value);
}

Tensor Softmax::operator()(const Tensor& x) const { return along(softmax, x, dim); }
Tensor LogSoftmax::operator()(const Tensor& x) const { return along(log_softmax, x, dim); }
Tensor Softmin::operator()(const Tensor& x) const { return along(softmin, x, dim); }

Tensor Softmax2d::operator()(const Tensor& x) const {
  expect_dimensions("nn::Softmax2d", x, {3, 4});
  return softmax(x, -3);
}

Tensor GLU::operator()(const Tensor& x) const { return glu(x, dim); }

Tensor SwiGLU::operator()(const Tensor& x) const {
  const Call call("nn::SwiGLU", x);
  const std::vector<Tensor> halves = split(x, 2, dim);
  return silu(halves[0]) * halves[1];
}

}  // namespace plait::nn
