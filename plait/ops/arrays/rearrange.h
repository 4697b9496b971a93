// Splitting, joining, reordering and repeating tensors. Results are views where possible. All
// functions are compositions of the primitives in reshape.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait {

Tensor transpose(const Tensor& x);  // reverses the order of the dimensions
Tensor transpose(const Tensor& x, std::span<const int64_t> axes);
Tensor moveaxis(const Tensor& x, std::span<const int64_t> from, std::span<const int64_t> to);
Tensor moveaxis(const Tensor& x, std::initializer_list<int64_t> from,
                std::initializer_list<int64_t> to);
// Splits one dimension into several; one of the sizes may be -1.
Tensor unflatten(const Tensor& x, int64_t axis, const Shape& sizes);

// Splits into `parts` equal parts (ValueError if the size is not divisible), or at the given
// indices.
std::vector<Tensor> split(const Tensor& x, int64_t parts, int64_t axis = 0);
std::vector<Tensor> split_at(const Tensor& x, std::span<const Dim> places, int64_t axis = 0);
std::vector<Tensor> split_at(const Tensor& x, std::initializer_list<Dim> places, int64_t axis = 0);
// Splits into at most `parts` parts. All but the last have the same size, and none is empty. The
// size must not be symbolic.
std::vector<Tensor> chunk(const Tensor& x, int64_t parts, int64_t axis = 0);
std::vector<Tensor> unstack(const Tensor& x, int64_t axis = 0);  // removes the axis
// Adds dimensions until there are at least this many. As in NumPy, a vector becomes a row, and a
// matrix gets its third dimension at the end.
Tensor atleast_1d(const Tensor& x);
Tensor atleast_2d(const Tensor& x);
Tensor atleast_3d(const Tensor& x);
// Stacks along the first dimension; vectors count as rows.
Tensor vstack(std::span<const Tensor> tensors);
// Joins along the second dimension; vectors along their only one.
Tensor hstack(std::span<const Tensor> tensors);
// Joins along the third dimension, after atleast_3d.
Tensor dstack(std::span<const Tensor> tensors);
// Joins along the second dimension; vectors count as columns.
Tensor column_stack(std::span<const Tensor> tensors);

std::vector<Tensor> broadcast_arrays(std::span<const Tensor> tensors);
// Repeats the whole tensor along each dimension. The counts are aligned with the last dimensions.
Tensor tile(const Tensor& x, std::span<const int64_t> counts);
Tensor tile(const Tensor& x, std::initializer_list<int64_t> counts);
Tensor repeat(const Tensor& x, Dim count, int64_t axis);  // repeats each element

// Repeats each element along the axis as often as its entry of `counts` says. `total` is the sum of
// the counts; without it, the counts are read. Throws IndexError for a negative count, and if the
// counts add up to less than `total`.
Tensor repeat(const Tensor& x, const Tensor& counts, int64_t axis, std::optional<Dim> total = {});

// Shifts along axes; elements that leave at one end enter at the other.
Tensor roll(const Tensor& x, Dim shift, int64_t axis);
Tensor roll(const Tensor& x, std::span<const int64_t> shifts, std::span<const int64_t> axes);
Tensor rot90(const Tensor& x, int64_t times = 1, int64_t from = 0, int64_t to = 1);

// Interleaves `groups` groups of channels in [..., c, h, w]: the first channel of each group, then
// the second of each, and so on.
Tensor channel_shuffle(const Tensor& x, int64_t groups);
// Rearranges [..., c·f², h, w] to [..., c, h·f, w·f], and the inverse.
Tensor pixel_shuffle(const Tensor& x, int64_t factor);
Tensor pixel_unshuffle(const Tensor& x, int64_t factor);

}  // namespace plait
