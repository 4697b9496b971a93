// Rows of an array (gather.h) that others replace, or are combined with.
#pragma once

#include <cstdint>
#include <span>

#include "plait/ops/indexing/gather.h"

namespace plait {

enum class Combine : uint8_t {
  set,  // of several updates to one row the last stays
  add,
  multiply,
  minimum,  // NaN where either is
  maximum,
};

// x with its rows combined with `updates`, in the order of the points. The derivative of minimum
// and maximum is shared evenly among all that are equal to the result, as JAX has it.
Tensor scatter_rows(Combine combine, const Tensor& x, const Tensor& updates,
                    std::span<const Tensor> indices, const GatherAttributes& attributes);
// The same, written into the memory of x where nobody else has it. x is given away, unless it
// fails.
Tensor scatter_rows_into(Combine combine, Tensor& x, const Tensor& updates,
                         std::span<const Tensor> indices, const GatherAttributes& attributes);

// What combining leaves as it is: 0, 1, the greatest or the least number that there is. Of `set`
// there is none.
Scalar neutral_of(Combine combine, DType dtype);

void register_scatter_ops();

}  // namespace plait
