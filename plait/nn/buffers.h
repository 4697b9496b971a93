// Tensors of a model that are not parameters.
#pragma once

#include "plait/tensor/tensor.h"

namespace plait::nn {

// A tensor that is not trained, such as the running statistics that a layer notes between calls:
// its gradient is 0, without being computed, and optimizers leave it alone. It is a Tensor:
//
//   struct Counter {
//     nn::Buffer calls = zeros({});
//     Tensor operator()(const Tensor& x) { calls = calls + 1; return x; }
//   };
using Buffer = Buffers<Tensor>;

}  // namespace plait::nn
