// Tensors cut up, put together, turned and repeated: views where they can be. All are made of the
// primitives of reshape.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait {

Tensor transpose(const Tensor& x);  // the dimensions in reverse order
Tensor transpose(const Tensor& x, std::span<const int64_t> axes);
Tensor moveaxis(const Tensor& x, std::span<const int64_t> from, std::span<const int64_t> to);
Tensor moveaxis(const Tensor& x, std::initializer_list<int64_t> from,
                std::initializer_list<int64_t> to);
// One dimension as several; one of the sizes may be -1.
Tensor unflatten(const Tensor& x, int64_t axis, const Shape& sizes);

// `parts` parts alike, ValueError where they would not be; or parts that begin at the places given.
std::vector<Tensor> split(const Tensor& x, int64_t parts, int64_t axis = 0);
std::vector<Tensor> split_at(const Tensor& x, std::span<const Dim> places, int64_t axis = 0);
std::vector<Tensor> split_at(const Tensor& x, std::initializer_list<Dim> places, int64_t axis = 0);
// At most `parts` parts, all but the last alike and none empty. The size must be a number.
std::vector<Tensor> chunk(const Tensor& x, int64_t parts, int64_t axis = 0);
std::vector<Tensor> unstack(const Tensor& x, int64_t axis = 0);  // without the axis
// At least so many dimensions: vectors are rows, matrices the first of a third dimension, as NumPy
// has it.
Tensor atleast_1d(const Tensor& x);
Tensor atleast_2d(const Tensor& x);
Tensor atleast_3d(const Tensor& x);
// Vectors count as rows.
Tensor vstack(std::span<const Tensor> tensors);
// Along the second dimension; vectors along their only one.
Tensor hstack(std::span<const Tensor> tensors);
// Along the third dimension, with atleast_3d.
Tensor dstack(std::span<const Tensor> tensors);
// Vectors count as columns.
Tensor column_stack(std::span<const Tensor> tensors);

std::vector<Tensor> broadcast_arrays(std::span<const Tensor> tensors);
// The whole, so many times along each dimension; counts are aligned at the last dimension.
Tensor tile(const Tensor& x, std::span<const int64_t> counts);
Tensor tile(const Tensor& x, std::initializer_list<int64_t> counts);
Tensor repeat(const Tensor& x, Dim count, int64_t axis);  // each element

// Each element as often as `counts` says for its place: `total` of them all, which is read where it
// is not given. IndexError for a count below 0, and where there are fewer.
Tensor repeat(const Tensor& x, const Tensor& counts, int64_t axis, std::optional<Dim> total = {});

// What is moved out at one end comes in at the other.
Tensor roll(const Tensor& x, Dim shift, int64_t axis);
Tensor roll(const Tensor& x, std::span<const int64_t> shifts, std::span<const int64_t> axes);
Tensor rot90(const Tensor& x, int64_t times = 1, int64_t from = 0, int64_t to = 1);

// Of `groups` neighbouring groups of channels in [..., c, h, w] the first of each, then the second
// of each, and so on.
Tensor channel_shuffle(const Tensor& x, int64_t groups);
// [..., c·f², h, w] to [..., c, h·f, w·f], and back.
Tensor pixel_shuffle(const Tensor& x, int64_t factor);
Tensor pixel_unshuffle(const Tensor& x, int64_t factor);

}  // namespace plait
