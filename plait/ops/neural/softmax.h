// Softmax and standardisation of rows. They are primitives, because their derivatives are functions
// of their results.
#pragma once

#include <string_view>

#include "plait/tensor/tensor.h"

namespace plait {

// e^x / Σ e^x along the axis; NaN if all elements are −∞. Integers are converted to f32.
Tensor softmax(const Tensor& x, int64_t axis = -1);
Tensor softmin(const Tensor& x, int64_t axis = -1);
// The logarithm of softmax, finite also where softmax underflows.
Tensor log_softmax(const Tensor& x, int64_t axis = -1);
// The same as softmax, but 0 instead of NaN if all elements are −∞: no key is attended to.
Tensor masked_softmax(const Tensor& x, int64_t axis = -1);

// softmax((logits + noise) / tau) with Gumbel noise by the key: a differentiable sample of a class.
// Without a key, the next one of the default stream is drawn. If hard, it is one-hot, with the
// derivative of the soft one.
Tensor gumbel_softmax(const Tensor& logits, double tau = 1, bool hard = false, int64_t axis = -1,
                      const Tensor& key = {});

// Standardised rows of the last dimension.
struct Standardized {
  Tensor values;  // (x − mean) · scale
  Tensor scale;   // 1/√(variance + epsilon), without the last dimension
};
// For f32 and f64. If not centred, the mean is not subtracted, and the variance is the mean of x².
Standardized standardize(const Tensor& x, double eps, bool is_centred = true);

struct SoftmaxAttributes {
  int64_t axis = 0;
  bool masked_is_zero = false;
  static constexpr std::string_view kRequired[] = {"axis"};
};
struct StandardizeAttributes {
  double epsilon = 0;
  bool is_centred = true;
  static constexpr std::string_view kRequired[] = {"epsilon"};
};

void register_softmax_ops();

}  // namespace plait
