// Derivatives of traced loops whose carries change their sizes.
#pragma once

#include <span>

#include "plait/transform/inside/forms/loops/staged_while.h"

namespace plait::control {

// Records the loop and follows it.
Tensors follow_changing(const StagedLoop& loop, std::span<const Tensor> operands);

}  // namespace plait::control
