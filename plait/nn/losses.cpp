#include "plait/nn/losses.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/operand.h"

namespace plait::nn {

Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     plait::CrossEntropyOptions options) {
  if (!options.axis && logits.rank() > 2) {
    throw ValueError("nn::cross_entropy: logits of {} need the axis of the classes",
                     logits.type().text())
        .at(Location::of_caller())
        .hint("axis: -1 for [batch, length, classes], 1 for [batch, classes, …]");
  }
  if (!options.axis) options.axis = -1;
  return plait::cross_entropy(astype(logits, computed(inexact(logits.dtype()))), target, options);
}

}  // namespace plait::nn
