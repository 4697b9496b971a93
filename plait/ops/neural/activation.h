// Activation functions. Narrow floats are computed in f32 and rounded once. Integers are converted
// to f32, except by relu.
#pragma once

#include "plait/tensor/scalar.h"
#include "plait/tensor/tensor.h"

namespace plait {

enum class Gelu : uint8_t {
  exact,  // x Φ(x), with erf
  tanh,   // the usual approximation with tanh
  fast,   // x sigmoid(1.702 x), within 0.021
};

Tensor relu(const Tensor& x);  // the derivative at 0 is 0
Tensor leaky_relu(const Tensor& x, double slope = 0.01);
Tensor prelu(const Tensor& x, const Tensor& slope);  // a single slope, or one per channel
                                                     // (dimension 1)
// x, or a slope of x below 0: (lower + upper) / 2, or in training one for each element, drawn
// uniformly from the range by the key (without a key, by the next one of the default stream).
Tensor rrelu(const Tensor& x, double lower = 1. / 8, double upper = 1. / 3, bool training = false,
             const Tensor& key = {});
Tensor elu(const Tensor& x, double alpha = 1);
Tensor selu(const Tensor& x);
Tensor celu(const Tensor& x, double alpha = 1);
Tensor gelu(const Tensor& x, Gelu kind = Gelu::exact);
Tensor silu(const Tensor& x);                       // x sigmoid(x)
Tensor mish(const Tensor& x);                       // x tanh(softplus(x))
Tensor softplus(const Tensor& x, double beta = 1);  // log(1 + e^(βx)) / β
Tensor softsign(const Tensor& x);
Tensor logsigmoid(const Tensor& x);
Tensor hardtanh(const Tensor& x, double low = -1, double high = 1);
Tensor relu6(const Tensor& x);
Tensor hardsigmoid(const Tensor& x);
Tensor hardswish(const Tensor& x);
Tensor hardshrink(const Tensor& x, double lambda = 0.5);
Tensor softshrink(const Tensor& x, double lambda = 0.5);
Tensor tanhshrink(const Tensor& x);
Tensor threshold(const Tensor& x, double threshold, double otherwise);
Tensor glu(const Tensor& x, int64_t axis = -1);  // first half times sigmoid(second half)

void register_activation_ops();

}  // namespace plait
