// Losses of models; ops/neural/loss.h has those that these are made of, and many more.
#pragma once

#include "plait/ops/neural/loss.h"

namespace plait::nn {

// −log p(target), where classes lie along the last dimension of logits of any rank: [..., classes]
// and a target [...], or of probabilities [..., classes]. Narrow floats give f32.
Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     plait::CrossEntropyOptions options = {});

}  // namespace plait::nn
