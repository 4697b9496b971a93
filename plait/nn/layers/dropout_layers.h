// Dropout.
#pragma once

#include "plait/tensor/tensor.h"

namespace plait::nn {

// Sets elements to 0 with probability p, in training. Without a key, the next key of the default
// stream is drawn.
struct Dropout {
  double p = 0.5;
  bool training = true;

  Tensor operator()(const Tensor& x, const Tensor& key) const;
  Tensor operator()(const Tensor& x) const;
};

}  // namespace plait::nn
