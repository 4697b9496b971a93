// Linear algebra on the last two dimensions, for each matrix of a stack. Dtypes are f32, f64, c64
// and c128; integers are converted to f32. NaN, infinity, and matrices that have no such
// factorisation throw an error that says which matrix of the stack it is.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "plait/ops/arrays/matrix_parts.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/products/products.h"
#include "plait/ops/reductions/reduce.h"

namespace plait::linalg {

struct Qr {
  Tensor q, r;
};
struct Lu {
  Tensor p, l, u;
};
struct Eigenpairs {
  Tensor values, vectors;  // eigenvectors are columns
};
struct Svd {
  Tensor u, s, vh;
};
struct SignAndLogDet {
  Tensor sign, logabsdet;
};
struct LeastSquares {
  Tensor solution, residuals, rank, singular_values;
};
struct Schur {
  Tensor t, z;
};
struct LuFactors {
  Tensor lu;     // L below the diagonal (its own diagonal is 1), U on and above it
  Tensor order;  // the row of A in each place
};

// ---- Factorisations.

// Cholesky factor of the Hermitian part of A, which must be positive definite: lower triangular L
// with A = L Lᴴ, or upper triangular U with A = Uᴴ U.
Tensor cholesky(const Tensor& a, bool upper = false);
// A = P L U, with a permutation P of the rows. Differentiable if the first min(m, n) columns of an
// m × n matrix are linearly independent.
Lu lu(const Tensor& a);
LuFactors lu_factor(const Tensor& a);  // the same, in the format of lu_solve
// A = Q R. Differentiable if the first min(m, n) columns of an m × n matrix are linearly
// independent; in the complete mode not for m > n.
enum class QrMode : uint8_t { reduced, complete };
Qr qr(const Tensor& a, QrMode mode = QrMode::reduced);
// Eigenvalues of the Hermitian part of A, in ascending order. Differentiable if all eigenvalues
// differ. With repeated eigenvalues, first derivatives exist for functions of the eigenvalues that
// treat these alike, such as a sum; derivatives of their vectors, and second ones, are NaN.
Eigenpairs eigh(const Tensor& a);
Tensor eigvalsh(const Tensor& a);
// Eigenvalues of any square matrix: complex, in no particular order. Eigenvectors have norm 1 and
// any phase. Differentiable if all eigenvalues differ.
Eigenpairs eig(const Tensor& a);
Tensor eigvals(const Tensor& a);
// A = U S Vᴴ with S in descending order; U and Vᴴ are square if `full_matrices`. Derivatives as for
// eigh; those of vectors, and second ones, also need all singular values to be nonzero. The columns
// that full matrices add have no derivative.
Svd svd(const Tensor& a, bool full_matrices = false);
Tensor svdvals(const Tensor& a);
// A = Z T Zᴴ with unitary Z and upper triangular T, whose diagonal holds the eigenvalues. In the
// real form of a real matrix, T has a 2 × 2 block for each complex conjugate pair. Not
// differentiable.
enum class SchurForm : uint8_t { real, complex };
Schur schur(const Tensor& a, SchurForm form = SchurForm::real);

// ---- Linear equations.

// Solves A X = B. B is a vector if it has one dimension, else a stack of matrices.
Tensor solve(const Tensor& a, const Tensor& b);
// Solves with one triangle of A, whose diagonal is taken as ones if `unit_diagonal`. B as above.
// NaN and infinity are not errors here, and propagate into the result.
Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper = true,
                        bool unit_diagonal = false);
// Solves A X = B from the factors that lu_factor or cholesky returns for A. B as above.
Tensor lu_solve(const Tensor& lu, const Tensor& order, const Tensor& b);
Tensor cholesky_solve(const Tensor& factor, const Tensor& b, bool upper = false);
Tensor inv(const Tensor& a);
Tensor cholesky_inverse(const Tensor& factor, bool upper = false);
// The Moore-Penrose pseudoinverse. Singular values below `tolerance` times the greatest count as 0;
// a negative tolerance means max(rows, columns) times the machine epsilon. Derivatives hold for
// changes that keep the rank.
Tensor pinv(const Tensor& a, double tolerance = -1);
// The least-squares solution X of minimal norm, and the sum of squared residuals of each column of
// B. Tolerance and derivatives as for pinv.
LeastSquares lstsq(const Tensor& a, const Tensor& b, double tolerance = -1);

// Solves A · X = B, where the product sums over all dimensions of X, the last ones of A. `axes` of
// A are first moved to the end.
Tensor tensorsolve(const Tensor& a, const Tensor& b, const std::vector<int64_t>& axes = {});
// The inverse for tensordot: X such that tensordot(X, B, count) solves A · Y = B, where B has
// `count` dimensions.
Tensor tensorinv(const Tensor& a, int64_t count = 2);

// ---- Determinants, norms and other scalars.

// First and second derivatives exist for any matrix, singular or not; higher ones if its singular
// values differ and are not 0.
Tensor det(const Tensor& a);
// det A = sign · e^logabsdet. A singular matrix gives 0 and -inf, without derivative.
SignAndLogDet slogdet(const Tensor& a);
Tensor matrix_rank(const Tensor& a, double tolerance = -1);  // tolerance as for pinv
Tensor trace(const Tensor& a, int64_t offset = 0);           // sum of a diagonal
Tensor matrix_power(const Tensor& a, int64_t exponent);
Tensor expm(const Tensor& a);  // Σ A^k / k!; infinity or NaN on overflow

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
// (Σ |x|^order)^(1 / order). For infinity the greatest |x|, for -infinity the least, for 0 the
// number of nonzero elements.
Tensor vector_norm(const Tensor& x, double order = 2, const Axes& axes = {}, bool keepdims = false);
enum class MatrixNorm : uint8_t {
  frobenius,      // √(Σ |x|²)
  nuclear,        // sum of the singular values
  greatest,       // greatest singular value
  least,          // least singular value
  one,            // greatest column sum of |x|
  least_one,      // least column sum of |x|
  infinity,       // greatest row sum of |x|
  least_infinity  // least row sum of |x|
};
Tensor matrix_norm(const Tensor& x, MatrixNorm norm = MatrixNorm::frobenius, bool keepdims = false);
// Condition number: norm(A) · norm(A⁻¹). A singular matrix gives infinity for `greatest` and
// `least`, which take matrices of any shape, and throws an error for other norms.
Tensor cond(const Tensor& a, MatrixNorm norm = MatrixNorm::greatest);
// As in NumPy: without an order, the root of Σ |x|² of all elements; with an order, a vector norm
// along one axis, or a matrix norm (1, -1, 2, -2, ±infinity) along two.
Tensor norm(const Tensor& x, std::optional<double> order = {},
            const std::vector<int64_t>& axes = {}, bool keepdims = false);

// ---- Products.

// The cross product of vectors of size 3 along an axis.
Tensor cross(const Tensor& a, const Tensor& b, int64_t axis = -1);
// The Kronecker product: each element of a times the whole of b.
Tensor kron(const Tensor& a, const Tensor& b);
// The product of all matrices, or stacks of matrices, in the order that needs the fewest
// multiplications. The first factor may be a vector (a row), and the last one (a column).
Tensor multi_dot(std::span<const Tensor> factors);

// ---- Structured matrices.

// Vandermonde matrix: the powers x⁰, x¹, x², … along a new last dimension, by default as many as x
// has elements along its last one.
Tensor vander(const Tensor& x, std::optional<int64_t> count = {}, bool increasing = true);
// Toeplitz matrix, constant along each diagonal, from its first column and first row. By default
// the row is the conjugate of the column. The first element of the row is ignored.
Tensor toeplitz(const Tensor& column, const Tensor& row = {});
// Block-diagonal matrix of the given blocks; vectors count as rows.
Tensor block_diag(std::span<const Tensor> blocks);

// ---- Aliases, as in the Array API.

using plait::diagonal;
using plait::matmul;
using plait::matrix_transpose;
using plait::outer;
using plait::tensordot;
using plait::vecdot;

}  // namespace plait::linalg

namespace plait {

void register_linalg_ops();

}  // namespace plait
