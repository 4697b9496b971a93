// Diagonals and triangles of matrices (the last two dimensions), and coordinate grids.
//
// Diagonal `offset` holds the elements whose column is their row + offset.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/ops/operand.h"

namespace plait {

Tensor tril(const Tensor& x, Dim offset = 0);  // 0 above the diagonal
Tensor triu(const Tensor& x, Dim offset = 0);  // 0 below it
// Ones up to the diagonal, zeros above it.
Tensor tri(Dim rows, Dim columns, Dim offset = 0, DType dtype = DType::f32);

Tensor diagonal(const Tensor& x, int64_t offset = 0);
// Returns matrices with the vectors along the last dimension as their diagonals.
Tensor diag_embed(const Tensor& x, int64_t offset = 0);
// For a vector: the matrix with that diagonal. For a matrix: its diagonal.
Tensor diag(const Tensor& x, int64_t offset = 0);
Tensor trace(const Tensor& x, int64_t offset = 0);  // the sum of the diagonal

// The row indices and the column indices of the lower (upper) triangle, diagonal included, in
// row-major order.
std::vector<Tensor> tril_indices(int64_t rows, int64_t columns, int64_t offset = 0);
std::vector<Tensor> triu_indices(int64_t rows, int64_t columns, int64_t offset = 0);

// Broadcasts each vector along the dimensions of all the others. With "xy" (Cartesian indexing, as
// for images) the first two dimensions are exchanged.
enum class GridOrder : uint8_t { xy, ij };
std::vector<Tensor> meshgrid(std::span<const Tensor> vectors, GridOrder order = GridOrder::xy);

}  // namespace plait
