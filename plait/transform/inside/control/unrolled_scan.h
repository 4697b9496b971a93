// Scans of which several steps are one.
#pragma once

#include <span>

#include "plait/transform/control/control.h"

namespace plait::control {

Tensors unrolled_scan(const TensorFunction& body, std::span<const Tensor> initial,
                      std::span<const Tensor> stacked, Dim length, const ScanOptions& options);

}  // namespace plait::control
