// Equations with given factors, and equations of tensors.
#include <numeric>

#include "plait/core/error.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/inside/linalg/linalg_operands.h"
#include "plait/ops/inside/linalg/linalg_parts.h"
#include "plait/ops/inside/linalg/linalg_primitives.h"
#include "plait/ops/linalg/linalg.h"
#include "plait/tensor/apply.h"

namespace plait::linalg {

LuFactors lu_factor(const Tensor& a) {
  const Call call("lu_factor", a);
  const Tensor numbers = matrices("lu_factor", a);
  const std::vector<Tensor> parts = apply_all(linalg_primitives().lu, {&numbers, 1});
  return {parts[0], parts[1]};
}

Tensor lu_solve(const Tensor& lu, const Tensor& order, const Tensor& b) {
  const Call call("lu_solve", lu, order, b);
  const Equation equation("lu_solve", square_matrices("lu_solve", lu), b);
  if (!is_integer(order.dtype())) {
    throw TypeError("lu_solve: the permutation is {}, not integers", name_of(order.dtype()))
        .at(Location::of_caller());
  }
  if (order.rank() == 0 || !same(order.shape(-1), lu.shape(-1))) {
    throw ShapeError("lu_solve: the permutation {} does not match the rows of {}",
                     order.type().text(), lu.type().text())
        .at(Location::of_caller());
  }
  const Tensor places = broadcast_to(expand_dims(order, -1), equation.b.shape());
  const Tensor below = apply_triangular_solve(equation.a, take_along_axis(equation.b, places, -2),
                                              {.lower = true, .unit_diagonal = true});
  return equation.solution(apply_triangular_solve(equation.a, below, {.lower = false}));
}

namespace {

// A⁻¹ B for A = L Lᴴ, or A = Uᴴ U.
Tensor solve_by_cholesky(const Tensor& factor, const Tensor& b, bool upper) {
  const Tensor lower = upper ? adjoint(factor) : factor;
  return apply_triangular_solve(adjoint(lower), apply_triangular_solve(lower, b, {.lower = true}),
                                {.lower = false});
}

}  // namespace

Tensor cholesky_solve(const Tensor& factor, const Tensor& b, bool upper) {
  const Call call("cholesky_solve", factor, b);
  const Equation equation("cholesky_solve", square_matrices("cholesky_solve", factor), b);
  return equation.solution(solve_by_cholesky(equation.a, equation.b, upper));
}

Tensor cholesky_inverse(const Tensor& factor, bool upper) {
  const Call call("cholesky_inverse", factor);
  const Tensor numbers = square_matrices("cholesky_inverse", factor);
  const Tensor one = identity(factor.shape(-1), factor.shape(-1), numbers.dtype());
  return solve_by_cholesky(numbers, broadcast_to(one, numbers.shape()), upper);
}

namespace {

Dim product_of(std::span<const Dim> sizes) {
  Dim product = 1;
  for (const Dim size : sizes) product = product * size;
  return product;
}

Tensor as_matrix(std::string_view function, const Tensor& a, Dim rows, Dim columns) {
  if (same(rows, columns)) return reshape(a, {rows, columns});
  throw ShapeError("{}: {} is not a square matrix, but {} × {} elements", function, a.type().text(),
                   rows, columns)
      .at(Location::of_caller());
}

}  // namespace

Tensor tensorsolve(const Tensor& a, const Tensor& b, const std::vector<int64_t>& axes) {
  const Call call("tensorsolve", a, b);
  if (a.rank() < b.rank()) {
    throw ShapeError("tensorsolve: {} has fewer dimensions than {}", a.type().text(),
                     b.type().text())
        .at(Location::of_caller());
  }
  std::vector<int64_t> order(a.rank());
  std::iota(order.begin(), order.end(), 0);
  for (const int64_t each : axes) {
    const auto axis = static_cast<int64_t>(axis_of(each, a.rank()));
    std::erase(order, axis);
    order.push_back(axis);
  }
  const Tensor left = permute_dims(a, order);
  const Shape whole = left.shape(), known = b.shape();
  const Shape unknown(whole.dims().subspan(known.rank()));
  const Dim equations = product_of(known.dims());
  const Tensor matrix = as_matrix("tensorsolve", left, equations, product_of(unknown.dims()));
  return reshape(solve(matrix, reshape(b, {equations})), unknown);
}

Tensor tensorinv(const Tensor& a, int64_t count) {
  const Call call("tensorinv", a);
  if (count < 1 || count > static_cast<int64_t>(a.rank())) {
    throw ValueError("tensorinv: the count {} is out of range for {}", count, a.type().text())
        .at(Location::of_caller());
  }
  const Shape whole = a.shape();
  const auto first = whole.dims().first(static_cast<size_t>(count));
  const auto rest = whole.dims().subspan(static_cast<size_t>(count));
  const Tensor matrix = as_matrix("tensorinv", a, product_of(first), product_of(rest));
  Shape result(rest);
  for (const Dim size : first) result.append(size);
  return reshape(inv(matrix), result);
}

}  // namespace plait::linalg
