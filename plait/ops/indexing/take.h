// Functions that read and write elements by number, as NumPy, the Array API and PyTorch name them.
// An index that is out of range is an IndexError; a negative one counts from the end.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plait/ops/operand.h"
#include "plait/ops/reductions/reduce.h"

namespace plait {

// ---- As NumPy has them.

// x[…, indices, …] along an axis; without one, of all elements in row-major order.
Tensor take(const Tensor& x, const Tensor& indices, std::optional<int64_t> axis = {});
// For each line of x along the axis the elements that the same line of `indices` names; the other
// sizes stretch.
Tensor take_along_axis(const Tensor& x, const Tensor& indices, int64_t axis = -1);
Tensor put_along_axis(const Tensor& x, const Tensor& indices, const Operand& values,
                      int64_t axis = -1);
// The coordinates in a shape of places in row-major order, a tensor for each axis.
std::vector<Tensor> unravel_index(const Tensor& indices, const Shape& shape);
std::vector<Tensor> nonzero(const Tensor& x);  // coordinates, a vector for each axis
Tensor argwhere(const Tensor& x);              // the same as rows: i64[k, rank]

// ---- As PyTorch has them: index has the rank of x and, but along the axis, sizes of x or less.

enum class ScatterReduction { sum, product, mean, maximum, minimum };

Tensor gather(const Tensor& x, int64_t axis, const Tensor& index);
// `source` may be larger than the index, or stretch to its shape.
Tensor scatter(const Tensor& x, int64_t axis, const Tensor& index, const Operand& source);
Tensor scatter_add(const Tensor& x, int64_t axis, const Tensor& index, const Operand& source);
// Without include_self the elements of x that are named count for nothing.
Tensor scatter_reduce(const Tensor& x, int64_t axis, const Tensor& index, const Operand& source,
                      ScatterReduction reduction, bool include_self = true);
Tensor index_add(const Tensor& x, int64_t axis, const Tensor& index, const Operand& source,
                 const Scalar& factor = 1);
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Operand& value);
Tensor masked_select(const Tensor& x, const Tensor& mask);  // the two stretch to one shape

// ---- Rows of tables.

// The rows of a table. What the id `padding` names leads no gradient to it, as PyTorch has it.
Tensor embedding(const Tensor& ids, const Tensor& table, std::optional<int64_t> padding = {});
// 1 at the place that each id names among `count`, 0 elsewhere; one more dimension behind.
Tensor one_hot(const Tensor& ids, Dim count, DType dtype = DType::f32);

// ---- Parts that begin where numbers in `starts` (integers, one for each of `axes`) say; along
// other axes they are whole. Unlike JAX's, which move what leads outside: IndexError.

Tensor dynamic_slice(const Tensor& x, const Tensor& starts, const std::vector<int64_t>& axes,
                     const std::vector<Dim>& sizes);
Tensor slice_update(const Tensor& x, const Tensor& part, const Tensor& starts,
                    const std::vector<int64_t>& axes);

}  // namespace plait
