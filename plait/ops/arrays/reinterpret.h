// Other interpretations of a tensor's elements. Tensors are values, so none of these returns a
// tensor through which another one could be written. "Memory" means the elements in row-major
// order.
#pragma once

#include <cstdint>
#include <span>

#include "plait/tensor/tensor.h"

namespace plait {

// Returns x with its elements contiguous in memory, in row-major order.
Tensor contiguous(const Tensor& x);

// Element (i, j, …) of the result is element offset + i · strides[0] + j · strides[1] + … of x,
// counted in row-major order. Throws IndexError if that is outside of x.
Tensor as_strided(const Tensor& x, const Shape& shape, std::span<const int64_t> strides,
                  int64_t offset = 0);
Tensor as_strided(const Tensor& x, const Shape& shape, std::initializer_list<int64_t> strides,
                  int64_t offset = 0);

// Reinterprets the bytes as elements of another dtype. If those are larger or smaller, the size of
// the last dimension changes accordingly. Not for keys, and not to bool.
Tensor view_dtype(const Tensor& x, DType dtype);

void register_view_dtype();

}  // namespace plait
