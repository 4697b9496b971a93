// Dropout: random parts of a tensor become zeros, and the others grow so that the mean stays. The
// key alone determines which parts are kept; without a key, the next key of the default stream is
// drawn (random.h). Integers are converted to f32.
#pragma once

#include "plait/tensor/tensor.h"

namespace plait {

// Sets each element to 0 with probability p and multiplies the others by 1/(1 − p); all are 0 for
// p = 1.
Tensor dropout(const Tensor& x, double p, const Tensor& key);
Tensor dropout(const Tensor& x, double p = 0.5);
// The same with a given mask of the elements to keep.
Tensor dropout(const Tensor& x, const Tensor& keep, double p);

// Sets whole channels to 0, of [batch, channels, length] or [channels, length].
Tensor dropout1d(const Tensor& x, double p, const Tensor& key);
Tensor dropout1d(const Tensor& x, double p = 0.5);
// The same for [batch, channels, height, width] or, as in PyTorch, [batch, channels, length].
Tensor dropout2d(const Tensor& x, double p, const Tensor& key);
Tensor dropout2d(const Tensor& x, double p = 0.5);
// The same for [batch, channels, depth, height, width] or [channels, depth, height, width].
Tensor dropout3d(const Tensor& x, double p, const Tensor& key);
Tensor dropout3d(const Tensor& x, double p = 0.5);

// Sets each element to the limit of selu at −∞ with probability p; a linear function of the result
// then keeps the mean 0 and the variance 1. For p = 1 all are 0.
Tensor alpha_dropout(const Tensor& x, double p, const Tensor& key);
Tensor alpha_dropout(const Tensor& x, double p = 0.5);
// The same for whole channels of [batch, channels, …].
Tensor feature_alpha_dropout(const Tensor& x, double p, const Tensor& key);
Tensor feature_alpha_dropout(const Tensor& x, double p = 0.5);

// Stochastic depth: sets whole samples of [batch, …] to 0, usually the results of a residual
// branch.
Tensor drop_path(const Tensor& x, double p, const Tensor& key);
Tensor drop_path(const Tensor& x, double p);

}  // namespace plait
