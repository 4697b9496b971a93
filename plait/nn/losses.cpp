#include "plait/nn/losses.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/operand.h"

namespace plait::nn {

Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     plait::CrossEntropyOptions options) {
  if (!options.axis && logits.rank() > 2) {
    throw ValueError(
        "nn::cross_entropy: logits of {}, and no axis is said to be that of the classes",
        logits.type().text())
        .at(Location::of_caller())
        .hint("axis: -1 of [batch, length, classes], 1 of [batch, classes, …]");
  }
  if (!options.axis) options.axis = -1;
  return plait::cross_entropy(astype(logits, computed(inexact(logits.dtype()))), target, options);
}

}  // namespace plait::nn
