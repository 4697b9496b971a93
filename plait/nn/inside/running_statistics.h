// Running statistics of norms.
#pragma once

#include "plait/ops/operand.h"

namespace plait::nn {

// The running statistic, moved towards that of a batch by this share of the distance. Without a
// gradient.
Tensor moved_towards(const Tensor& running, const Tensor& batch, const Operand& share);

}  // namespace plait::nn
