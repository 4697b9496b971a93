// Random numbers within branches and loops of traces: what is drawn there is made of a key that is
// drawn outside, so that it is the same when a derivative computes it again.
#pragma once

#include "plait/transform/control/control.h"
#include "plait/transform/inside/control/staged.h"

namespace plait {

// Whether a function of the program draws from the default stream; whether this one does, or one
// that it calls.
bool draws_keys(const ir::Program& program);
bool draws_keys(const ir::Program& program, const ir::Function& function);

// The function with a key for its last argument, of which all that it draws is made.
TensorFunction with_key(const StagedFunction& function);

namespace control {

// Loops of functions that take a key besides, each step one of its own, which is made of this one.
Tensors while_with_keys(const TensorFunction& test, const TensorFunction& body,
                        std::span<const Tensor> initial, const Tensor& key);
Tensors scan_with_keys(const TensorFunction& body, std::span<const Tensor> initial,
                       std::span<const Tensor> stacked, const ScanOptions& options,
                       const Tensor& key);

}  // namespace control

}  // namespace plait
