// Reads and updates by integer indices, under the names of NumPy, the Array API and PyTorch. An
// index out of range throws IndexError; a negative one counts from the end.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plait/ops/operand.h"
#include "plait/ops/reductions/reduce.h"

namespace plait {

// ---- As in NumPy.

// x[…, indices, …] along an axis. Without an axis, indices count all elements in row-major order.
Tensor take(const Tensor& x, const Tensor& indices, std::optional<int64_t> axis = {});
// Like x[indices] along the axis, separately for each position along the other axes; their sizes
// are broadcast.
Tensor take_along_axis(const Tensor& x, const Tensor& indices, int64_t axis = -1);
Tensor put_along_axis(const Tensor& x, const Tensor& indices, const Operand& values,
                      int64_t axis = -1);
// Converts flat indices in row-major order to coordinates in a shape, one tensor per axis.
std::vector<Tensor> unravel_index(const Tensor& indices, const Shape& shape);
std::vector<Tensor> nonzero(const Tensor& x);  // coordinates, one vector per axis
Tensor argwhere(const Tensor& x);              // coordinates as rows: i64[k, rank]

// ---- As in PyTorch: index has the rank of x, and its sizes are at most those of x, except along
// the axis.

enum class ScatterReduction { sum, product, mean, maximum, minimum };

Tensor gather(const Tensor& x, int64_t axis, const Tensor& index);
// `source` may be larger than the index, or is broadcast to its shape.
Tensor scatter(const Tensor& x, int64_t axis, const Tensor& index, const Operand& source);
Tensor scatter_add(const Tensor& x, int64_t axis, const Tensor& index, const Operand& source);
// Without include_self the previous values of the updated elements are ignored.
Tensor scatter_reduce(const Tensor& x, int64_t axis, const Tensor& index, const Operand& source,
                      ScatterReduction reduction, bool include_self = true);
Tensor index_add(const Tensor& x, int64_t axis, const Tensor& index, const Operand& source,
                 const Scalar& factor = 1);
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Operand& value);
Tensor masked_select(const Tensor& x, const Tensor& mask);  // both are broadcast to one shape

// ---- Tables of rows.

// Selects rows of a table. The row `padding` gets no gradient, as in PyTorch.
Tensor embedding(const Tensor& ids, const Tensor& table, std::optional<int64_t> padding = {});
// 1 at the index that each id names among `count`, else 0, along a new last dimension.
Tensor one_hot(const Tensor& ids, Dim count, DType dtype = DType::f32);

// ---- Slices whose first indices are data: `starts` holds one integer for each of `axes`; other
// axes are taken whole. A slice that leads outside throws IndexError, where JAX moves it inside.

Tensor dynamic_slice(const Tensor& x, const Tensor& starts, const std::vector<int64_t>& axes,
                     const std::vector<Dim>& sizes);
Tensor slice_update(const Tensor& x, const Tensor& part, const Tensor& starts,
                    const std::vector<int64_t>& axes);

}  // namespace plait
