#include "plait/nn/layers/dropout_layers.h"

#include "plait/ops/neural/dropout.h"

namespace plait::nn {
Tensor Dropout::operator()(const Tensor& x, const Tensor& key) const {
  return training ? dropout(x, p, key) : x;
}
Tensor Dropout::operator()(const Tensor& x) const { return training ? dropout(x, p) : x; }

}  // namespace plait::nn
