// Conversions of dtype, changes of shape, and reordering along axes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "plait/tensor/memory/layout.h"
#include "plait/tensor/tensor.h"

namespace plait {

Tensor astype(const Tensor& x, DType dtype);
Tensor broadcast_to(const Tensor& x, const Shape& shape);
Tensor reshape(const Tensor& x, const Shape& shape);  // one size may be -1 and is inferred
Tensor permute_dims(const Tensor& x, std::span<const int64_t> axes);
Tensor permute_dims(const Tensor& x, std::initializer_list<int64_t> axes);
Tensor matrix_transpose(const Tensor& x);  // exchanges the last two dimensions
Tensor swapaxes(const Tensor& x, int64_t a, int64_t b);
Tensor moveaxis(const Tensor& x, int64_t from, int64_t to);
Tensor expand_dims(const Tensor& x, int64_t axis);
Tensor squeeze(const Tensor& x, int64_t axis);
Tensor flatten(const Tensor& x);
Tensor slice(const Tensor& x, int64_t axis, const Slice& range);
// The `count` elements start, start + step, … of an axis. Throws IndexError if one is out of range;
// with symbolic sizes this is checked when the program runs.
Tensor slice_axis(const Tensor& x, int64_t axis, Dim start, Dim count, int64_t step = 1);
// Adds zeros before and after the elements and, with a step above 1, between them.
Tensor pad_zeros(const Tensor& x, int64_t axis, Dim before, Dim after, int64_t step = 1);
Tensor flip(const Tensor& x, int64_t axis);
Tensor concat(std::span<const Tensor> tensors, int64_t axis = 0);
Tensor stack(std::span<const Tensor> tensors, int64_t axis = 0);

void register_shape_ops();
void register_slice_ops();

}  // namespace plait
