// Names of values that a rematerialised function can keep (transform/derivatives/remat.h).
#pragma once

#include <string>
#include <string_view>

#include "plait/tensor/tensor.h"

namespace plait {

// Returns x, under a name that `save_names` can refer to.
Tensor checkpoint_name(const Tensor& x, std::string_view name);

struct CheckpointNameAttributes {
  std::string label = {};
};

void register_checkpoint_name();

}  // namespace plait
