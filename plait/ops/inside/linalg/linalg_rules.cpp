// Tangents of factorisations. Each rule differentiates the defining equation; the structure of the
// factors (triangular, unitary) then separates their tangents.
#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/matrix_parts.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/linalg/linalg_parts.h"
#include "plait/ops/inside/linalg/linalg_primitives.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/scan.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

constexpr TriangularAttributes kLower{.lower = true}, kUpper{.lower = false},
    kUnitLower{.lower = true, .unit_diagonal = true};

// B A⁻¹ for a triangular A, as (A⁻ᵀ Bᵀ)ᵀ.
Tensor divided_by(const Tensor& b, const Tensor& a, TriangularAttributes kind) {
  kind.lower = !kind.lower;
  return matrix_transpose(apply_triangular_solve(matrix_transpose(a), matrix_transpose(b), kind));
}

Tensor quotient_or_zero(const Tensor& x, const Tensor& d) {
  return apply(linalg_primitives().quotient_or_zero,
               {x, broadcast_to(astype(d, x.dtype()), x.shape())});
}

// x[i, j] / (values[j] - values[i]), and 0 on the diagonal. Eigenvectors of equal eigenvalues have
// a derivative only in directions that do not mix them, where x is 0; else this is NaN.
Tensor over_differences(const Tensor& x, const Tensor& values) {
  const Dim n = values.shape(-1);
  const Tensor differences = expand_dims(values, -2) - expand_dims(values, -1);
  const Tensor elsewhere = x - diagonal_part(x);
  return quotient_or_zero(elsewhere, differences + identity(n, n, values.dtype()));
}

// Each column divided by its number.
Tensor columns_over(const Tensor& x, const Tensor& numbers) {
  return quotient_or_zero(x, expand_dims(numbers, -2));
}

bool is_surely_at_most(Dim a, Dim b) {
  return same(a, b) || (a.is_number() && b.is_number() && a.number() <= b.number());
}

// The sum of two tangents, either of which may be zero (empty).
Tensor sum_of(const Tensor& a, const Tensor& b) {
  if (!a) return b;
  return b ? a + b : a;
}

}  // namespace

// A = L Lᴴ: L⁻¹ Ȧ L⁻ᴴ = L⁻¹ L̇ + (L⁻¹ L̇)ᴴ, so L⁻¹ L̇ is the lower triangle of the left side with
// half of the diagonal.
std::vector<Tensor> cholesky_tangents(const RuleContext& c, std::span<const Tensor> tangents) {
  const Tensor& l = c.result();
  const Tensor left = apply_triangular_solve(l, hermitian_of_lower(tangents[0]), kLower);
  const Tensor both = adjoint(apply_triangular_solve(l, adjoint(left), kLower));
  return {matmul(l, strict_tril(both) + diagonal_part(both) * 0.5)};
}

// P A = L U with L and U completed to square matrices by parts of the identity: L⁻¹ P Ȧ U⁻¹ = L⁻¹
// L̇ + U̇ U⁻¹, where the first term is strictly lower and the second upper triangular. The first
// columns of A must be independent.
std::vector<Tensor> lu_tangents(const RuleContext& c, std::span<const Tensor> tangents) {
  const Tensor& both = c.result(0);
  const Dim m = both.shape(-2), n = both.shape(-1);
  const DType dtype = both.dtype();
  const bool is_square = same(m, n);
  const Tensor rows = identity(m, m, dtype);
  const Tensor l = strict_tril(is_square ? both : matmul(both, identity(n, m, dtype))) + rows;
  Tensor u = triu(is_square ? both : matmul(identity(n, m, dtype), both));
  if (!is_square) {
    const Tensor place = iota(n);
    const Tensor is_added = (expand_dims(place, 1) == place) & (place >= m);
    u = u + astype(is_added, dtype);
  }
  const Tensor order = astype(expand_dims(c.result(1), -1) == iota(m), dtype);
  const Tensor left = apply_triangular_solve(l, matmul(order, tangents[0]), kUnitLower);
  const Tensor inner = divided_by(left, u, kUpper);
  return {matmul(l, strict_tril(inner)) + matmul(triu(inner), u), {}, {}};
}

// A X = B: A Ẋ = Ḃ - Ȧ X.
std::vector<Tensor> solve_tangents(const RuleContext& c, std::span<const Tensor> tangents) {
  const Tensor moved = tangents[0] ? -matmul(tangents[0], c.result()) : Tensor();
  return {apply_solve(c.operand(0), sum_of(moved, tangents[1]))};
}

Tensor transpose_solve(const RuleContext& c, const Tensor& cotangent, size_t) {
  return apply_solve(matrix_transpose(c.operand(0)), cotangent);
}

// The same, restricted to the triangle of A that is read.
std::vector<Tensor> triangular_solve_tangents(const RuleContext& c,
                                              std::span<const Tensor> tangents) {
  const auto& kind = c.attributes.as<TriangularAttributes>();
  Tensor moved;
  if (tangents[0]) {
    const Tensor& t = tangents[0];
    Tensor part = kind.lower ? strict_tril(t) : matrix_transpose(strict_tril(matrix_transpose(t)));
    if (!kind.unit_diagonal) part = part + diagonal_part(t);
    moved = -matmul(part, c.result());
  }
  return {apply_triangular_solve(c.operand(0), sum_of(moved, tangents[1]), kind)};
}

Tensor transpose_triangular_solve(const RuleContext& c, const Tensor& cotangent, size_t) {
  TriangularAttributes kind = c.attributes.as<TriangularAttributes>();
  kind.lower = !kind.lower;
  return apply_triangular_solve(matrix_transpose(c.operand(0)), cotangent, kind);
}

// A = Q R. The first k columns of A, X = Q R₁ with a square R₁, are independent: Qᴴ Ẋ R₁⁻¹ = Qᴴ Q̇
// + Ṙ₁ R₁⁻¹, where the first term is skew-Hermitian and the second upper triangular with a real
// diagonal. Then Ṙ = Qᴴ (Ȧ - Q̇ R).
std::vector<Tensor> qr_tangents(const RuleContext& c, std::span<const Tensor> tangents) {
  const Tensor &q = c.result(0), &r = c.result(1), &t = tangents[0];
  const Dim m = t.shape(-2), n = t.shape(-1);
  if (c.attributes.as<QrAttributes>().complete && !is_surely_at_most(m, n)) {
    throw ValueError(
        "qr: {} has no derivative in complete mode: some columns of Q are not determined",
        c.operand_types[0].text())
        .at(Location::of_caller())
        .hint("use the reduced mode");
  }
  const Dim k = min(m, n);
  const Tensor first = identity(n, k, t.dtype());
  const bool is_tall = same(n, k);
  const Tensor ratio =
      divided_by(is_tall ? t : matmul(t, first), is_tall ? r : matmul(r, first), kUpper);
  const Tensor inside = matmul(adjoint(q), ratio);
  const Tensor below = strict_tril(inside);
  Tensor skew = below - adjoint(below);
  if (is_complex(t.dtype())) {
    skew = skew + diagonal_part(inside - astype(real(inside), t.dtype()));
  }
  const Tensor q_tangent = matmul(q, skew - inside) + ratio;
  return {q_tangent, triu(matmul(adjoint(q), t - matmul(q_tangent, r)))};
}

// A V = V W: Vᴴ Ȧ V = Vᴴ V̇ W - W Vᴴ V̇ + Ẇ. The phases of the vectors are free, so the diagonal of
// Vᴴ V̇ is chosen as 0.
std::vector<Tensor> eigh_tangents(const RuleContext& c, std::span<const Tensor> tangents) {
  const Tensor &w = c.result(0), &v = c.result(1);
  const Tensor inside = matmul(adjoint(v), matmul(hermitian_of_lower(tangents[0]), v));
  return {real(diagonal(inside)), matmul(v, over_differences(inside, w))};
}

// A = U S Vᴴ (Townsend, "Differentiating the singular value decomposition", 2016): the Hermitian
// and skew parts of D = Uᴴ Ȧ V give the tangents within the ranges of U and V; the part of Ȧ
// orthogonal to U or V adds those that leave them. Vectors of singular values that are 0 are mixed
// by D itself.
std::vector<Tensor> svd_tangents(const RuleContext& c, std::span<const Tensor> tangents) {
  const Tensor &u = c.result(0), &s = c.result(1), &t = tangents[0];
  const Dim m = t.shape(-2), n = t.shape(-1);
  if (c.attributes.as<SvdAttributes>().full && !same(m, n)) {
    throw ValueError(
        "svd: {} has no derivative with full matrices: some of their columns are not determined",
        c.operand_types[0].text())
        .at(Location::of_caller())
        .hint("use the reduced form");
  }
  const Tensor v = adjoint(c.result(2));
  const Tensor inside = matmul(adjoint(u), matmul(t, v));
  const Tensor right = scale_columns(inside, s), left = scale_rows(s, inside);
  const Tensor is_mixed = (expand_dims(s, -2) == 0) & (expand_dims(s, -1) == 0);
  const auto turned = [&](const Tensor& side) {
    return over_differences(where(is_mixed, inside, side + adjoint(side)), square(s));
  };
  const Tensor phase = columns_over(diagonal_part(inside - adjoint(inside)) * 0.5, s);
  Tensor u_tangent = matmul(u, turned(right) + phase);
  Tensor v_tangent = matmul(v, turned(left));
  if (!is_surely_at_most(m, n)) {
    const Tensor image = matmul(t, v);
    const Tensor beside = image - matmul(u, matmul(adjoint(u), image));
    u_tangent = u_tangent + columns_over(beside, s);
  }
  if (!is_surely_at_most(n, m)) {
    const Tensor image = matmul(adjoint(t), u);
    const Tensor beside = image - matmul(v, matmul(adjoint(v), image));
    v_tangent = v_tangent + columns_over(beside, s);
  }
  return {u_tangent, real(diagonal(inside)), adjoint(v_tangent)};
}

// Golub and Pereyra (1973), for constant rank: -P Ȧ P + P Pᴴ Ȧᴴ (1 - A P) + (1 - P A) Ȧᴴ Pᴴ P.
std::vector<Tensor> pinv_tangents(const RuleContext& c, std::span<const Tensor> tangents) {
  const Tensor &a = c.operand(0), &p = c.result(), &t = tangents[0];
  const Tensor th = adjoint(t), ph = adjoint(p);
  // Chooses the order of products whose intermediate results are the smaller of m × m and n × n.
  if (is_surely_at_most(a.shape(-2), a.shape(-1))) {
    const Tensor first = matmul(p, matmul(ph, th)), last = matmul(th, matmul(ph, p));
    return {first - matmul(first, matmul(a, p)) + last - matmul(p, matmul(a, last)) -
            matmul(p, matmul(t, p))};
  }
  const Tensor first = matmul(matmul(p, ph), th), last = matmul(matmul(th, ph), p);
  return {first - matmul(matmul(first, a), p) + last - matmul(matmul(p, a), last) -
          matmul(matmul(p, t), p)};
}

// A V = V W: V⁻¹ Ȧ V = V⁻¹ V̇ W - W V⁻¹ V̇ + Ẇ. V̇ is chosen such that the vectors keep their norms
// and their phases.
std::vector<Tensor> eig_tangents(const RuleContext& c, std::span<const Tensor> tangents) {
  const Tensor &w = c.result(0), &v = c.result(1);
  const Tensor inside = apply_solve(v, matmul(astype(tangents[0], v.dtype()), v));
  const Tensor turned = matmul(v, over_differences(inside, w));
  const Tensor along = sum(conj(v) * turned, -2);
  return {diagonal(inside), turned - scale_columns(v, along)};
}

// Jacobi's formula: tr(adj(A) Ȧ), for A of any rank.
std::vector<Tensor> determinant_tangents(const RuleContext& c, std::span<const Tensor> tangents) {
  const Tensor minors = apply(linalg_primitives().adjugate, {c.operand(0)});
  return {sum(matrix_transpose(minors) * tangents[0], {-2, -1})};
}

namespace {

// At (i, j) with i < j: the product of all elements but the i-th and the j-th. Else 0.
Tensor products_of_others(const Tensor& s) {
  const Dim n = s.shape(-1);
  const int64_t axis = s.rank() - 1;
  const Tensor place = iota(n);
  const Tensor is_behind = expand_dims(place, 1) < place;
  const Tensor before = shifted(cumprod(s, axis), axis, false, 1);
  const Tensor behind = shifted(cumprod(s, axis, true), axis, true, 1);
  const Tensor up_to = cumprod(where(is_behind, expand_dims(s, -2), 1), axis + 1);
  const Tensor between = shifted(up_to, axis + 1, false, 1);
  return where(is_behind, scale_columns(scale_rows(before, between), behind), 0);
}

}  // namespace

// A = U S Vᴴ: adj(A) = det(U Vᴴ) V adj(Uᴴ A V) Uᴴ. When a diagonal matrix S changes by D, its
// adjugate changes at (i, j) by -D[i, j] times the product of all elements of S but two, and on the
// diagonal by the sum over j of such products times D[j, j]. This holds for A of any rank. Higher
// derivatives use the rule of the SVD.
std::vector<Tensor> adjugate_tangents(const RuleContext& c, std::span<const Tensor> tangents) {
  const Tensor& a = c.operand(0);
  const std::vector<Tensor> parts =
      apply_all(linalg_primitives().svd, {&a, 1}, ir::Attributes::of(SvdAttributes{}));
  const Tensor &u = parts[0], &vh = parts[2];
  const Tensor phase = apply(linalg_primitives().determinant, {matmul(u, vh)});
  const Tensor above = products_of_others(parts[1]);
  const Tensor products = astype(above + matrix_transpose(above), a.dtype());
  const Tensor inside = matmul(adjoint(u), matmul(tangents[0], adjoint(vh)));
  const Tensor sums = matmul(products, expand_dims(diagonal(inside), -1));
  const Tensor moved = sums * identity(a.shape(-1), a.shape(-1), a.dtype()) - products * inside;
  const Tensor turned = matmul(adjoint(vh), matmul(moved, adjoint(u)));
  return {turned * expand_dims(expand_dims(phase, -1), -1)};
}

// Those by D have one factor 1 / D after the other, so that a zero of X or of the tangent stays
// one.
std::vector<Tensor> quotient_or_zero_tangents(const RuleContext& c,
                                              std::span<const Tensor> tangents) {
  const Tensor &x = c.operand(0), &d = c.operand(1);
  Tensor by_d;
  if (tangents[1]) by_d = -quotient_or_zero(quotient_or_zero(x * tangents[1], d), d);
  return {sum_of(tangents[0] ? quotient_or_zero(tangents[0], d) : Tensor(), by_d)};
}

Tensor transpose_quotient_or_zero(const RuleContext& c, const Tensor& cotangent, size_t) {
  return quotient_or_zero(cotangent, c.operand(1));
}

namespace {

Tensor derivative_of_expm(const Tensor& a, const Tensor& direction) {
  return apply(linalg_primitives().expm_derivative, {a, direction});
}

// [[a, b], [0, d]]; an empty b means 0.
Tensor two_by_two(const Tensor& a, const Tensor& b, const Tensor& d) {
  const int64_t row = a.rank() - 2, column = a.rank() - 1;
  const Dim n = a.shape(-1);
  const Tensor above[] = {a, b};
  const Tensor rows[] = {b ? concat(above, column) : pad_zeros(a, column, 0, n),
                         pad_zeros(d, column, n, 0)};
  return concat(rows, row);
}

}  // namespace

std::vector<Tensor> expm_tangents(const RuleContext& c, std::span<const Tensor> tangents) {
  return {derivative_of_expm(c.operand(0), tangents[0])};
}

// The derivative of Σ A^k / k! in direction E is, transposed, that of Σ (Aᵀ)^k / k!.
Tensor transpose_expm_derivative(const RuleContext& c, const Tensor& cotangent, size_t) {
  return derivative_of_expm(matrix_transpose(c.operand(0)), cotangent);
}

// The second derivative is symmetric in E and Ȧ. For B = [[A, E], [0, A]] it is the upper right
// block of the derivative of e^B in direction [[Ȧ, 0], [0, Ȧ]], and is computed in this form, which
// is linear in Ȧ.
std::vector<Tensor> expm_derivative_tangents(const RuleContext& c,
                                             std::span<const Tensor> tangents) {
  const Tensor &a = c.operand(0), &e = c.operand(1);
  Tensor moved;
  if (tangents[0]) {
    const Tensor both =
        derivative_of_expm(two_by_two(a, e, a), two_by_two(tangents[0], Tensor(), tangents[0]));
    const Dim n = a.shape(-1);
    const int64_t row = a.rank() - 2, column = a.rank() - 1;
    moved = slice_axis(slice_axis(both, row, 0, n), column, n, n);
  }
  const Tensor along = tangents[1] ? derivative_of_expm(a, tangents[1]) : Tensor();
  return {sum_of(moved, along)};
}

}  // namespace plait
