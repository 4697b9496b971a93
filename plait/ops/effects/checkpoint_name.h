// Names for values that a rematerialised function is to keep (transform/derivatives/remat.h).
#pragma once

#include <string>
#include <string_view>

#include "plait/tensor/tensor.h"

namespace plait {

// x itself, with a name that `save_names` means.
Tensor checkpoint_name(const Tensor& x, std::string_view name);

struct CheckpointNameAttributes {
  std::string label = {};
};

void register_checkpoint_name();

}  // namespace plait
