// Checkpointed loops: run in pieces, each of which is recomputed in the backward pass.
#pragma once

#include <span>

#include "plait/transform/control/control.h"

namespace plait::control {

// `rows`, followed by the sizes of x without its first `dropped` ones.
Shape with_rows(Shape rows, const Tensor& x, size_t dropped);

Tensors checkpointed_while(const TensorFunction& test, const TensorFunction& body,
                           std::span<const Tensor> initial, const Checkpoints& checkpoints);
Tensors checkpointed_scan(const TensorFunction& body, std::span<const Tensor> initial,
                          std::span<const Tensor> stacked, Dim length, bool reverse,
                          const Checkpoints& checkpoints);

}  // namespace plait::control
