// Random numbers within branches and loops of traces. They are derived from a key that is drawn
// outside, so that a derivative that recomputes them gets the same numbers.
#pragma once

#include "plait/transform/control/control.h"
#include "plait/transform/inside/forms/staged.h"

namespace plait {

// The function with a key as its last argument, from which all its random numbers are derived.
TensorFunction with_key(const StagedFunction& function);

namespace control {

// Loops over functions that take a key as their last argument. Each step receives its own key,
// derived from this one.
Tensors while_with_keys(const TensorFunction& test, const TensorFunction& body,
                        std::span<const Tensor> initial, const Tensor& key);
Tensors scan_with_keys(const TensorFunction& body, std::span<const Tensor> initial,
                       std::span<const Tensor> stacked, const ScanOptions& options,
                       const Tensor& key);

}  // namespace control

}  // namespace plait
