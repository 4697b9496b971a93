// Softmax, and rows brought to a common scale: primitives, since what is read of them is their
// result.
#pragma once

#include <string_view>

#include "plait/tensor/tensor.h"

namespace plait {

// e^x over its sum along the axis. Where all are −∞ along it, NaN. Integers give f32.
Tensor softmax(const Tensor& x, int64_t axis = -1);
Tensor softmin(const Tensor& x, int64_t axis = -1);
// Its logarithm, which is finite where softmax is below the least number.
Tensor log_softmax(const Tensor& x, int64_t axis = -1);
// 0 instead of NaN where all are −∞: nothing is attended to.
Tensor masked_softmax(const Tensor& x, int64_t axis = -1);

// Of the last dimension.
struct Standardized {
  Tensor values;  // (x − mean) · scale
  Tensor scale;   // 1/√(variance + epsilon), without the last dimension
};
// Takes f32 and f64. Where not centred, the mean is left where it is, and the variance is the mean
// of x².
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
