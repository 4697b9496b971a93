// Updates of the rows of an array (gather.h): replaced, or combined with new ones.
#pragma once

#include <cstdint>
#include <span>

#include "plait/ops/indexing/gather.h"

namespace plait {

enum class Combine : uint8_t {
  set,  // the last of several updates of one row remains
  add,
  multiply,
  minimum,  // NaN if either is NaN
  maximum,
};

// Returns x with its rows combined with `updates`, in the order of the points. The derivative of
// minimum and maximum is shared evenly among all that are equal to the result, as in JAX.
Tensor scatter_rows(Combine combine, const Tensor& x, const Tensor& updates,
                    std::span<const Tensor> indices, const GatherAttributes& attributes);
// The same, in place if no other tensor shares the memory of x. x is donated, unless an error is
// thrown.
Tensor scatter_rows_into(Combine combine, Tensor& x, const Tensor& updates,
                         std::span<const Tensor> indices, const GatherAttributes& attributes);

// The neutral element: 0, 1, or the greatest or least number of the dtype. `set` has none.
Scalar neutral_of(Combine combine, DType dtype);

void register_scatter_ops();

}  // namespace plait
