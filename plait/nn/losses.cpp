#include "plait/nn/losses.h"

#include "plait/ops/arrays/reshape.h"
#include "plait/ops/operand.h"

namespace plait::nn {

Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     plait::CrossEntropyOptions options) {
  if (!options.axis) options.axis = -1;
  return plait::cross_entropy(astype(logits, computed(inexact(logits.dtype()))), target, options);
}

}  // namespace plait::nn
