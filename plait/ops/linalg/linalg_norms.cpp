#include <algorithm>
#include <cmath>
#include <numeric>

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/linalg/linalg.h"

namespace plait::linalg {
namespace {

// √(Σ |x|²), with a derivative of 0 at 0.
Tensor root_of_squares(const Tensor& x, const Axes& axes, bool keepdims) {
  const Tensor total = sum_of_squares(x, axes, keepdims);
  const Tensor is_zero = total == 0;
  return where(is_zero, 0, sqrt(where(is_zero, 1, total)));
}

MatrixNorm matrix_norm_of(double order) {
  if (order == 1) return MatrixNorm::one;
  if (order == -1) return MatrixNorm::least_one;
  if (order == 2) return MatrixNorm::greatest;
  if (order == -2) return MatrixNorm::least;
  if (order == kInfinity) return MatrixNorm::infinity;
  if (order == -kInfinity) return MatrixNorm::least_infinity;
  throw ValueError("norm: a matrix has no norm of order {}", order)
      .at(Location::of_caller())
      .hint("the orders are 1, -1, 2, -2 and ±infinity; matrix_norm() has more");
}

Tensor with_two_ones(const Tensor& reduced, bool keepdims) {
  return keepdims ? expand_dims(expand_dims(reduced, -1), -1) : reduced;
}

// Moves the two axes to the end; kept dimensions are moved back afterwards.
Tensor norm_along(const Tensor& x, MatrixNorm kind, int64_t row, int64_t column, bool keepdims) {
  std::vector<int64_t> order;
  const auto rank = static_cast<int64_t>(x.rank());
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (axis != row && axis != column) order.push_back(axis);
  }
  order.push_back(row);
  order.push_back(column);
  const Tensor reduced = matrix_norm(permute_dims(x, order), kind);
  if (!keepdims) return reduced;
  Shape shape = x.shape();
  shape.set(row, 1);
  shape.set(column, 1);
  return reshape(reduced, shape);
}

}  // namespace

Tensor vector_norm(const Tensor& x, double order, const Axes& axes, bool keepdims) {
  const Call call("vector_norm", x);
  const Tensor numbers = astype(x, inexact(x.dtype()));
  if (order == 2) return root_of_squares(numbers, axes, keepdims);
  const Tensor sizes = absolute(numbers);
  if (order == kInfinity) return max(sizes, axes, keepdims);
  if (order == -kInfinity) return min(sizes, axes, keepdims);
  if (order == 0) return sum(astype(numbers != 0, sizes.dtype()), axes, keepdims);
  if (order == 1) return sum(sizes, axes, keepdims);
  if (std::isnan(order)) {
    throw ValueError("vector_norm: the order is NaN").at(Location::of_caller());
  }
  return power(sum(power(sizes, order), axes, keepdims), 1 / order);
}

Tensor matrix_norm(const Tensor& x, MatrixNorm norm, bool keepdims) {
  const Call call("matrix_norm", x);
  if (x.rank() < 2) {
    throw ShapeError("matrix_norm: expected matrices, not {}", x.type().text())
        .at(Location::of_caller());
  }
  const Tensor numbers = astype(x, inexact(x.dtype()));
  const auto sums = [&](int64_t axis) { return sum(absolute(numbers), axis); };
  switch (norm) {
    case MatrixNorm::frobenius: return root_of_squares(numbers, {-2, -1}, keepdims);
    case MatrixNorm::nuclear: return with_two_ones(sum(svdvals(numbers), -1), keepdims);
    case MatrixNorm::greatest: return with_two_ones(max(svdvals(numbers), -1), keepdims);
    case MatrixNorm::least: return with_two_ones(min(svdvals(numbers), -1), keepdims);
    case MatrixNorm::one: return with_two_ones(max(sums(-2), -1), keepdims);
    case MatrixNorm::least_one: return with_two_ones(min(sums(-2), -1), keepdims);
    case MatrixNorm::infinity: return with_two_ones(max(sums(-1), -1), keepdims);
    case MatrixNorm::least_infinity: return with_two_ones(min(sums(-1), -1), keepdims);
  }
  throw ValueError("matrix_norm: unknown norm {}", static_cast<int>(norm));
}

Tensor cond(const Tensor& a, MatrixNorm norm) {
  const Call call("cond", a);
  if (norm != MatrixNorm::greatest && norm != MatrixNorm::least) {
    return matrix_norm(a, norm) * matrix_norm(inv(a), norm);
  }
  const Tensor s = svdvals(a);
  if (same(s.shape(-1), Dim(0))) {
    throw ValueError("cond: the matrices {} have no elements", a.type().text())
        .at(Location::of_caller());
  }
  const Tensor greatest = squeeze(slice_axis(s, -1, 0, 1), -1);
  const Tensor least = squeeze(slice_axis(s, -1, s.shape(-1) - 1, 1), -1);
  const bool is_least = norm == MatrixNorm::least;
  const Tensor& below = is_least ? greatest : least;
  const Tensor is_zero = below == 0;
  const Tensor ratio = (is_least ? least : greatest) / where(is_zero, 1, below);
  return where(is_zero, kInfinity, ratio);
}

Tensor norm(const Tensor& x, std::optional<double> order, const std::vector<int64_t>& axes,
            bool keepdims) {
  const Call call("norm", x);
  if (!order) {
    const Tensor numbers = astype(x, inexact(x.dtype()));
    return root_of_squares(numbers, axes.empty() ? Axes() : Axes(axes), keepdims);
  }
  const size_t count = axes.empty() ? x.rank() : axes.size();
  if (count == 1) return vector_norm(x, *order, axes.empty() ? Axes() : Axes(axes), keepdims);
  if (count != 2) {
    throw ValueError("norm: an order needs one axis or two, not {} of {}", count, x.type().text())
        .at(Location::of_caller())
        .hint("vector_norm() accepts any number of axes");
  }
  const auto row = static_cast<int64_t>(axes.empty() ? 0 : axis_of(axes[0], x.rank()));
  const auto column = static_cast<int64_t>(axes.empty() ? 1 : axis_of(axes[1], x.rank()));
  if (row == column) throw ValueError("norm: axis {} appears twice", row);
  return norm_along(x, matrix_norm_of(*order), row, column, keepdims);
}

}  // namespace plait::linalg
