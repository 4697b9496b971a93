// Reductions and products over groups of rows. Groups are given by an id per row (segments), or by
// the sizes of consecutive groups (ragged).
#pragma once

#include <optional>

#include "plait/tensor/tensor.h"

namespace plait {

// For each k below `count`, the reduction of the rows x[i, …] with ids[i] = k. Without a count, the
// ids are read, and it is the greatest id plus one. Throws IndexError for an id out of range.
// Dtypes as for sum, mean and max. A group without rows gives 0 (sum), 1 (prod), NaN (mean), the
// least (max) or the greatest (min) number of the dtype.
Tensor segment_sum(const Tensor& x, const Tensor& ids, std::optional<Dim> count = {});
Tensor segment_prod(const Tensor& x, const Tensor& ids, std::optional<Dim> count = {});
Tensor segment_mean(const Tensor& x, const Tensor& ids, std::optional<Dim> count = {});
Tensor segment_max(const Tensor& x, const Tensor& ids, std::optional<Dim> count = {});
Tensor segment_min(const Tensor& x, const Tensor& ids, std::optional<Dim> count = {});

// Multiplies consecutive groups of rows by one matrix each, as in a mixture of experts. Takes rows
// [rows, k], matrices [groups, k, n] and the group sizes [groups]; returns [rows, n]. Rows behind
// the last group are 0.
Tensor ragged_dot(const Tensor& rows, const Tensor& matrices, const Tensor& group_sizes);
// For each group, (rows of a)ᵀ · (rows of b): [rows, k] and [rows, n] give [groups, k, n].
Tensor ragged_outer(const Tensor& a, const Tensor& b, const Tensor& group_sizes);

void register_segment_ops();

}  // namespace plait
