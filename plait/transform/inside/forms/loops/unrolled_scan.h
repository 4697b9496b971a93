// Unrolled scans: several steps of the body in one step of the loop.
#pragma once

#include <span>

#include "plait/transform/control/control.h"

namespace plait::control {

Tensors unrolled_scan(const TensorFunction& body, std::span<const Tensor> initial,
                      std::span<const Tensor> stacked, Dim length, const ScanOptions& options);

}  // namespace plait::control
