#include "plait/nn/inside/running_statistics.h"

#include <algorithm>

#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"

namespace plait::nn {

bool is_empty_batch(const Tensor& x) {
  return std::ranges::any_of(x.shape().dims(), is_same_as(Dim(0)));
}

Tensor moved_towards(const Tensor& running, const Tensor& batch, const Operand& share) {
  const Tensor distance = stop_gradient(astype(batch, running.dtype())) - running;
  return astype(running + distance * share, running.dtype());
}

}  // namespace plait::nn
