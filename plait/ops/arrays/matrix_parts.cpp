#include "plait/ops/arrays/matrix_parts.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/reductions/reduce.h"

namespace plait {
namespace {

void expect_matrices(std::string_view function, const Tensor& x) {
  if (x.rank() >= 2) return;
  throw ShapeError("{}: {} has fewer than two dimensions", function, x.type().text())
      .at(Location::of_caller());
}

// Column minus row of each element.
Tensor distance_from_diagonal(Dim rows, Dim columns) {
  return iota(columns) - expand_dims(iota(rows), 1);
}
Tensor distance_from_diagonal(const Tensor& x) {
  return distance_from_diagonal(x.shape(-2), x.shape(-1));
}

// 0 for a diagonal outside of the matrix.
Dim diagonal_length(Dim rows, Dim columns, int64_t offset) {
  if (offset == 0) return min(rows, columns);
  const Dim length = offset >= 0 ? min(rows, columns - offset) : min(rows + offset, columns);
  return max(length, 0);
}

// With a known number of columns, the diagonal is a strided slice of the flattened matrix.
Tensor stepped_diagonal(const Tensor& x, int64_t columns, Dim length, int64_t offset) {
  Shape flat(x.shape().dims().first(x.rank() - 2));
  flat.append(x.shape(-2) * x.shape(-1));
  const int64_t start = offset >= 0 ? offset : -offset * columns;
  return slice_axis(reshape(x, flat), -1, same(length, Dim(0)) ? 0 : start, length, columns + 1);
}

// With a symbolic number of columns: the single element on the diagonal in each row, as a sum.
Tensor masked_diagonal(const Tensor& x, Dim length, int64_t offset) {
  const Tensor is_on = distance_from_diagonal(x) == offset;
  const Tensor by_row = astype(sum(where(is_on, x, 0), -1), x.dtype());
  return slice_axis(by_row, -1, offset >= 0 ? 0 : -offset, length);
}

}  // namespace

Tensor tril(const Tensor& x, Dim offset) {
  const Call call("tril", x);
  expect_matrices("tril", x);
  return where(distance_from_diagonal(x) <= offset, x, zeros({}, x.dtype()));
}

Tensor triu(const Tensor& x, Dim offset) {
  const Call call("triu", x);
  expect_matrices("triu", x);
  return where(distance_from_diagonal(x) >= offset, x, zeros({}, x.dtype()));
}

Tensor tri(Dim rows, Dim columns, Dim offset, DType dtype) {
  const Call call("tri");
  return astype(distance_from_diagonal(rows, columns) <= offset, dtype);
}

Tensor diagonal(const Tensor& x, int64_t offset) {
  const Call call("diagonal", x);
  expect_matrices("diagonal", x);
  const Dim rows = x.shape(-2), columns = x.shape(-1);
  const Dim length = diagonal_length(rows, columns, offset);
  if (columns.is_number()) return stepped_diagonal(x, columns.number(), length, offset);
  return masked_diagonal(x, length, offset);
}

Tensor diag_embed(const Tensor& x, int64_t offset) {
  const Call call("diag_embed", x);
  if (x.rank() == 0) {
    throw ShapeError("diag_embed: expected vectors, not {}", x.type().text())
        .at(Location::of_caller());
  }
  const int64_t above = std::max<int64_t>(offset, 0), below = std::max<int64_t>(-offset, 0);
  const Dim size = x.shape(-1) + above + below;
  // Row r of the result holds element r − below.
  const Tensor by_row = expand_dims(pad_zeros(x, -1, below, above), -1);
  return where(distance_from_diagonal(size, size) == offset, by_row, zeros({}, x.dtype()));
}

Tensor diag(const Tensor& x, int64_t offset) {
  const Call call("diag", x);
  if (x.rank() == 2) return diagonal(x, offset);
  if (x.rank() != 1) {
    throw ShapeError("diag: expected a vector or a matrix, not {}", x.type().text())
        .at(Location::of_caller())
        .hint("diagonal accepts batches of matrices");
  }
  return diag_embed(x, offset);
}

std::vector<Tensor> tril_indices(int64_t rows, int64_t columns, int64_t offset) {
  const Call call("tril_indices");
  return nonzero(distance_from_diagonal(rows, columns) <= offset);
}

std::vector<Tensor> triu_indices(int64_t rows, int64_t columns, int64_t offset) {
  const Call call("triu_indices");
  return nonzero(distance_from_diagonal(rows, columns) >= offset);
}

Tensor trace(const Tensor& x, int64_t offset) {
  const Call call("trace", x);
  expect_matrices("trace", x);
  return sum(diagonal(x, offset), -1);
}

std::vector<Tensor> meshgrid(std::span<const Tensor> vectors, GridOrder order) {
  const Call call("meshgrid", vectors);
  Shape grid;
  for (const Tensor& vector : vectors) {
    if (vector.rank() > 1) {
      throw ShapeError("meshgrid: {} is not a vector", vector.type().text())
          .at(Location::of_caller());
    }
    grid.append(vector.shape().element_count());
  }
  std::vector<Tensor> result;
  for (size_t i = 0; i < vectors.size(); ++i) {
    Shape along = Shape::of_sizes(Sizes(vectors.size(), 1));
    along.set(static_cast<int64_t>(i), grid[i]);
    const Tensor broadcasted = broadcast_to(reshape(vectors[i], along), grid);
    const bool is_picture = order == GridOrder::xy && vectors.size() >= 2;
    result.push_back(is_picture ? swapaxes(broadcasted, 0, 1) : broadcasted);
  }
  return result;
}

}  // namespace plait
