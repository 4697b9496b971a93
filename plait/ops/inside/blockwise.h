// Evaluation of compositions block by block. Between the operations of a composition, intermediate
// results of large tensors would go through main memory; blocks stay in the nearest caches. In a
// trace, or if a tape records, the function receives the whole tensors.
#pragma once

#include <initializer_list>
#include <span>

#include "plait/core/function_ref.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/tensor.h"

namespace plait {

using BlockFunction = FunctionRef<Tensor(std::span<const Tensor>)>;

// Returns f(operands). f must be elementwise; operands of a single element may be broadcast.
Tensor blockwise(std::span<const Tensor> operands, BlockFunction f);
Tensor blockwise(std::initializer_list<Tensor> operands, BlockFunction f);

// Reduces a tensor along axes, which are removed.
using BlockReduction = FunctionRef<Tensor(const Tensor&, const Axes&)>;

// Returns f(x, axes), with axes of size 1 kept if `keepdims`. `join` combines the results of f for
// parts along the reduced axes into the result for all. Without `join`, x is only cut along other
// axes.
Tensor reduce_blockwise(const Tensor& x, const Axes& axes, bool keepdims, BlockReduction f);
Tensor reduce_blockwise(const Tensor& x, const Axes& axes, bool keepdims, BlockReduction f,
                        BlockReduction join);

}  // namespace plait
