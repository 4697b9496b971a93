// Running statistics of norms.
#pragma once

#include <string_view>

#include "plait/ops/operand.h"

namespace plait::nn {

inline constexpr std::string_view kRunningStatistics = "the running statistics";

// An empty batch has no statistics.
bool is_empty_batch(const Tensor& x);

// The running statistic, moved towards that of a batch by this share of the distance. Without a
// gradient.
Tensor moved_towards(const Tensor& running, const Tensor& batch, const Operand& share);

}  // namespace plait::nn
