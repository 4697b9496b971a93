// Functions that are made of several elementwise operations. Of large tensors the results between
// would lie in memory, and be fetched from there again: here they are computed a block at a time,
// which stays in the nearest caches.
#pragma once

#include <initializer_list>
#include <span>

#include "plait/core/function_ref.h"
#include "plait/tensor/tensor.h"

namespace plait {

using BlockFunction = FunctionRef<Tensor(std::span<const Tensor>)>;

// f(operands), where each element of the result is made of the elements at the same place alone, or
// of the one element of an operand that has no other. At once for all of them where a trace or a
// derivative follows what f does.
Tensor blockwise(std::span<const Tensor> operands, BlockFunction f);
Tensor blockwise(std::initializer_list<Tensor> operands, BlockFunction f);

}  // namespace plait
