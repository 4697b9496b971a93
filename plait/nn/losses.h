// Losses for models; ops/neural/loss.h has many more.
#pragma once

#include "plait/ops/neural/loss.h"

namespace plait::nn {

// −log p(target). Logits are [..., classes]; the target is [...], or probabilities [..., classes].
// Narrow floats are computed and returned in f32.
Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     plait::CrossEntropyOptions options = {});

}  // namespace plait::nn
