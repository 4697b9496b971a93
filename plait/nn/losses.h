// Losses for models; ops/neural/loss.h has many more.
#pragma once

#include "plait/ops/neural/loss.h"

namespace plait::nn {

// −log p(target), where classes lie along the axis of the options, which must be said of logits of
// more than two dimensions: of [batch, length, classes] it is −1. Narrow floats give f32.
Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     plait::CrossEntropyOptions options = {});

}  // namespace plait::nn
