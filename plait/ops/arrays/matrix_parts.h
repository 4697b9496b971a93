// Diagonals and triangles of matrices, which are the last two dimensions; and grids.
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
// Matrices whose diagonals are the vectors along the last dimension.
Tensor diag_embed(const Tensor& x, int64_t offset = 0);
// A matrix whose diagonal is the vector, or the diagonal of a matrix.
Tensor diag(const Tensor& x, int64_t offset = 0);
Tensor trace(const Tensor& x, int64_t offset = 0);  // the sum of the diagonal

// The rows and the columns of what is up to a diagonal, or from it on, in row-major order.
std::vector<Tensor> tril_indices(int64_t rows, int64_t columns, int64_t offset = 0);
std::vector<Tensor> triu_indices(int64_t rows, int64_t columns, int64_t offset = 0);

// The vectors along the dimensions of a grid, each stretched to all of it. By "xy" the first two
// dimensions change places, as in pictures.
enum class GridOrder : uint8_t { xy, ij };
std::vector<Tensor> meshgrid(std::span<const Tensor> vectors, GridOrder order = GridOrder::xy);

}  // namespace plait
