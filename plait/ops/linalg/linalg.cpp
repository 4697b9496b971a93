#include "plait/ops/linalg/linalg.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/matrix_parts.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/linalg/linalg_operands.h"
#include "plait/ops/inside/linalg/linalg_parts.h"
#include "plait/ops/inside/linalg/linalg_primitives.h"
#include "plait/ops/products/linear.h"
#include "plait/tensor/apply.h"

namespace plait::linalg {
namespace {

Tensor hermitian_part(const Tensor& a) { return a * 0.5 + adjoint(a) * 0.5; }

// max(m, n) times the machine epsilon if no tolerance is given.
double tolerance_of(std::string_view function, const Tensor& a, double given) {
  expect_number("tolerance", given);
  if (given >= 0) return given;
  const Dim m = a.shape(-2), n = a.shape(-1);
  if (m.is_number() && n.is_number()) {
    return static_cast<double>(std::max(m.number(), n.number())) * float_limits(a.dtype()).epsilon;
  }
  throw ValueError("{}: the default tolerance depends on the size, which is a symbol in {}",
                   function, a.type().text())
      .at(Location::of_caller())
      .hint("pass a tolerance");
}

}  // namespace

Tensor cholesky(const Tensor& a, bool upper) {
  const Call call("cholesky", a);
  const Tensor part = hermitian_part(square_matrices("cholesky", a));
  const Tensor l = apply(linalg_primitives().cholesky, {part});
  return upper ? adjoint(l) : l;
}

namespace {
std::vector<Tensor> lu_of(const Tensor& a) { return apply_all(linalg_primitives().lu, {&a, 1}); }
}  // namespace

Lu lu(const Tensor& a) {
  const Call call("lu", a);
  const std::vector<Tensor> parts = lu_of(matrices("lu", a));
  const Tensor& both = parts[0];
  const Dim m = a.shape(-2), n = a.shape(-1), k = min(m, n);
  const DType dtype = both.dtype();
  const Tensor left = strict_tril(same(n, k) ? both : matmul(both, identity(n, k, dtype)));
  const Tensor upper = triu(same(m, k) ? both : matmul(identity(k, m, dtype), both));
  // Row i of P A is row order[i] of A.
  const Tensor p = astype(expand_dims(parts[1], -2) == expand_dims(iota(m), 1), dtype);
  return {p, left + identity(m, k, dtype), upper};
}

Qr qr(const Tensor& a, QrMode mode) {
  const Call call("qr", a);
  const Tensor numbers = matrices("qr", a);
  const std::vector<Tensor> parts =
      apply_all(linalg_primitives().qr, {&numbers, 1},
                ir::Attributes::of(QrAttributes{.complete = mode == QrMode::complete}));
  return {parts[0], parts[1]};
}

Eigenpairs eigh(const Tensor& a) {
  const Call call("eigh", a);
  const Tensor part = hermitian_part(square_matrices("eigh", a));
  const std::vector<Tensor> parts = apply_all(linalg_primitives().eigh, {&part, 1});
  return {parts[0], parts[1]};
}
Tensor eigvalsh(const Tensor& a) {
  const Call call("eigvalsh", a);
  return eigh(a).values;
}

Eigenpairs eig(const Tensor& a) {
  const Call call("eig", a);
  const Tensor numbers = square_matrices("eig", a);
  const std::vector<Tensor> parts = apply_all(linalg_primitives().eig, {&numbers, 1});
  return {parts[0], parts[1]};
}
Tensor eigvals(const Tensor& a) {
  const Call call("eigvals", a);
  return eig(a).values;
}

Svd svd(const Tensor& a, bool full_matrices) {
  const Call call("svd", a);
  const Tensor numbers = matrices("svd", a);
  const std::vector<Tensor> parts =
      apply_all(linalg_primitives().svd, {&numbers, 1},
                ir::Attributes::of(SvdAttributes{.full = full_matrices}));
  return {parts[0], parts[1], parts[2]};
}
Tensor svdvals(const Tensor& a) {
  const Call call("svdvals", a);
  return svd(a).s;
}

Schur schur(const Tensor& a, SchurForm form) {
  const Call call("schur", a);
  Tensor numbers = square_matrices("schur", a);
  if (form == SchurForm::complex) numbers = astype(numbers, promote(numbers.dtype(), DType::c64));
  const std::vector<Tensor> parts = apply_all(linalg_primitives().schur, {&numbers, 1});
  return {parts[0], parts[1]};
}

Tensor solve(const Tensor& a, const Tensor& b) {
  const Call call("solve", a, b);
  const Equation equation("solve", square_matrices("solve", a), b);
  return equation.solution(apply_solve(equation.a, equation.b));
}

Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool unit_diagonal) {
  const Call call("solve_triangular", a, b);
  const Equation equation("solve_triangular", square_matrices("solve_triangular", a), b);
  return equation.solution(apply_triangular_solve(
      equation.a, equation.b, {.lower = !upper, .unit_diagonal = unit_diagonal}));
}

Tensor inv(const Tensor& a) {
  const Call call("inv", a);
  const Tensor numbers = square_matrices("inv", a);
  const Tensor one = identity(a.shape(-1), a.shape(-1), numbers.dtype());
  return apply_solve(numbers, broadcast_to(one, numbers.shape()));
}

Tensor pinv(const Tensor& a, double tolerance) {
  const Call call("pinv", a);
  const Tensor numbers = matrices("pinv", a);
  const double least = tolerance_of("pinv", numbers, tolerance);
  return apply(linalg_primitives().pinv, {numbers}, ir::Attributes::of(PinvAttributes{least}));
}

LeastSquares lstsq(const Tensor& a, const Tensor& b, double tolerance) {
  const Call call("lstsq", a, b);
  const Equation equation("lstsq", a, b);
  const double least = tolerance_of("lstsq", equation.a, tolerance);
  const Tensor x = matmul(pinv(equation.a, least), equation.b);
  const Tensor rest = absolute(matmul(equation.a, x) - equation.b);
  const Tensor residuals = sum(square(rest), -2);
  return {equation.solution(x), equation.is_vector ? squeeze(residuals, -1) : residuals,
          matrix_rank(a, least), svdvals(a)};
}

Tensor det(const Tensor& a) {
  const Call call("det", a);
  return apply(linalg_primitives().determinant, {square_matrices("det", a)});
}

SignAndLogDet slogdet(const Tensor& a) {
  const Call call("slogdet", a);
  const std::vector<Tensor> parts = lu_of(square_matrices("slogdet", a));
  const Tensor pivots = diagonal(parts[0]);
  return {prod(sign(pivots), -1) * astype(parts[2], pivots.dtype()),
          sum(log(absolute(pivots)), -1)};
}

Tensor matrix_rank(const Tensor& a, double tolerance) {
  const Call call("matrix_rank", a);
  const Tensor numbers = matrices("matrix_rank", a);
  const double least = tolerance_of("matrix_rank", numbers, tolerance);
  const Tensor s = svdvals(numbers);
  return sum(astype(s > slice(s, -1, {.stop = 1}) * least, DType::i64), -1);
}

Tensor trace(const Tensor& a, int64_t offset) {
  const Call call("trace", a);
  return plait::trace(a, offset);
}

Tensor matrix_power(const Tensor& a, int64_t exponent) {
  const Call call("matrix_power", a);
  Tensor factor = exponent < 0 ? inv(a) : a;
  if (a.rank() < 2 || !same(a.shape(-1), a.shape(-2))) {
    throw ShapeError("matrix_power: expected square matrices, not {}", a.type().text())
        .at(Location::of_caller());
  }
  Tensor result;
  auto rest = exponent < 0 ? 0 - static_cast<uint64_t>(exponent) : static_cast<uint64_t>(exponent);
  for (; rest > 0; rest /= 2) {
    if (rest % 2 == 1) result = result ? matmul(result, factor) : factor;
    if (rest > 1) factor = matmul(factor, factor);
  }
  if (result) return result;
  return broadcast_to(identity(a.shape(-1), a.shape(-1), a.dtype()), a.shape());
}

Tensor expm(const Tensor& a) {
  const Call call("expm", a);
  return apply(linalg_primitives().expm, {square_matrices("expm", a)});
}

Tensor cross(const Tensor& a, const Tensor& b, int64_t axis) {
  const Call call("cross", a, b);
  const DType dtype = common_dtype(a, b);
  const std::vector<Tensor> both =
      broadcast_together("cross", {astype(a, dtype), astype(b, dtype)});
  const auto rank = static_cast<int64_t>(both[0].rank());
  const auto at = static_cast<int64_t>(axis_of(axis, both[0].rank()));
  for (const Tensor& x : {a, b}) {
    const int64_t from_end = at - rank;
    if (-from_end <= static_cast<int64_t>(x.rank()) && same(x.shape(from_end), Dim(3))) continue;
    throw ShapeError("cross: {} has no vectors of length 3 along axis {}", x.type().text(), axis)
        .at(Location::of_caller());
  }
  const auto part = [&](const Tensor& x, int64_t i) {
    return slice(x, at, {.start = i % 3, .stop = i % 3 + 1});
  };
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < 3; ++i) {
    parts.push_back(part(both[0], i + 1) * part(both[1], i + 2) -
                    part(both[0], i + 2) * part(both[1], i + 1));
  }
  return concat(parts, at);
}

Tensor kron(const Tensor& a, const Tensor& b) {
  const Call call("kron", a, b);
  const size_t rank = std::max(a.rank(), b.rank());
  const auto size_at = [&](const Tensor& x, size_t axis) {
    const size_t added = rank - x.rank();
    return axis < added ? Dim(1) : x.shape(static_cast<int64_t>(axis - added));
  };
  Shape of_a, of_b, result;
  for (size_t axis = 0; axis < rank; ++axis) {
    of_a.append(size_at(a, axis));
    of_a.append(1);
    of_b.append(1);
    of_b.append(size_at(b, axis));
    result.append(size_at(a, axis) * size_at(b, axis));
  }
  return reshape(reshape(a, of_a) * reshape(b, of_b), result);
}

}  // namespace plait::linalg

namespace plait {

void register_linalg_ops() { linalg_primitives(); }

}  // namespace plait
