// What batching rules share.
#pragma once

#include <span>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait {

// The operands with one more dimension in front where they have none yet: repeated as often as
// those that are `batched` are long.
std::vector<Tensor> batch_all(std::span<const Tensor> operands, const std::vector<bool>& batched);

}  // namespace plait
