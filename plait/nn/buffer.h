// Tensors of a model that are no parameters.
#pragma once

#include "plait/tensor/tensor.h"

namespace plait::nn {

// A tensor without a gradient, which optimizers leave alone: what a layer notes between calls, such
// as running statistics. It is a Tensor:
//
//   struct Counter {
//     nn::Buffer calls = zeros({});
//     Tensor operator()(const Tensor& x) { calls = calls + 1; return x; }
//   };
using Buffer = Buffers<Tensor>;

}  // namespace plait::nn
