// Rows in groups: by an id for each row (segments), or by how many rows each group has, one after
// the other (ragged).
#pragma once

#include <optional>

#include "plait/tensor/tensor.h"

namespace plait {

// What the rows x[i, …] with ids[i] = k give together, for each k below `count`. Without a count it
// is the greatest id and one, which is read. IndexError for an id outside. Dtypes as those of sum,
// mean and max. A group without rows gives 0, 1, NaN, the least and the greatest number that there
// is.
Tensor segment_sum(const Tensor& x, const Tensor& ids, std::optional<Dim> count = {});
Tensor segment_prod(const Tensor& x, const Tensor& ids, std::optional<Dim> count = {});
Tensor segment_mean(const Tensor& x, const Tensor& ids, std::optional<Dim> count = {});
Tensor segment_max(const Tensor& x, const Tensor& ids, std::optional<Dim> count = {});
Tensor segment_min(const Tensor& x, const Tensor& ids, std::optional<Dim> count = {});

// The rows of each group, which are neighbours, times that group's matrix: the products of a
// mixture of experts. [rows, k], [groups, k, n] and how many rows each of the groups has give
// [rows, n]; rows behind the last group are 0.
Tensor ragged_dot(const Tensor& rows, const Tensor& matrices, const Tensor& group_sizes);
// For each group the product of its rows of `a`, transposed, with those of `b`: [rows, k] and
// [rows, n] give [groups, k, n].
Tensor ragged_outer(const Tensor& a, const Tensor& b, const Tensor& group_sizes);

void register_segment_ops();

}  // namespace plait
