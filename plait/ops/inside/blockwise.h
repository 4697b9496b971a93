// Functions that are made of several operations, elementwise ones and reductions. Of large tensors
// the results between would lie in memory, and be fetched from there again: here they are computed
// a block at a time, which stays in the nearest caches. All at once where a trace or a derivative
// follows what is done.
#pragma once

#include <initializer_list>
#include <span>

#include "plait/core/function_ref.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/tensor.h"

namespace plait {

using BlockFunction = FunctionRef<Tensor(std::span<const Tensor>)>;

// f(operands), where each element of the result is made of the elements at the same place alone, or
// of the one element of an operand that has no other.
Tensor blockwise(std::span<const Tensor> operands, BlockFunction f);
Tensor blockwise(std::initializer_list<Tensor> operands, BlockFunction f);

// What reduces a tensor along axes, which the result has no more.
using BlockReduction = FunctionRef<Tensor(const Tensor&, const Axes&)>;

// f(x, axes), with axes of size 1 in their places if `keepdims`. What f gives for parts along the
// axes `join` reduces to what it gives for all; without it only other axes are cut.
Tensor reduce_blockwise(const Tensor& x, const Axes& axes, bool keepdims, BlockReduction f);
Tensor reduce_blockwise(const Tensor& x, const Axes& axes, bool keepdims, BlockReduction f,
                        BlockReduction join);

}  // namespace plait
