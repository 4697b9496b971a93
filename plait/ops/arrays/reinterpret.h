// The memory of a tensor looked at otherwise. Tensors are values here, so none of these makes one
// that others write through: what is an array's memory is its elements in row-major order.
#pragma once

#include <cstdint>
#include <span>

#include "plait/tensor/tensor.h"

namespace plait {

// The same, where its elements lie in row-major order without gaps.
Tensor contiguous(const Tensor& x);

// The element with index i, j, … is that with the number offset + i · strides[0] + j · strides[1] +
// … of x in row-major order. IndexError for one that is not there.
Tensor as_strided(const Tensor& x, const Shape& shape, std::span<const int64_t> strides,
                  int64_t offset = 0);
Tensor as_strided(const Tensor& x, const Shape& shape, std::initializer_list<int64_t> strides,
                  int64_t offset = 0);

// The same bytes as elements of another dtype. Where those are larger or smaller, the last
// dimension has fewer or more of them. Not from or to keys, and not to bool.
Tensor view_dtype(const Tensor& x, DType dtype);

void register_view_dtype();

}  // namespace plait
