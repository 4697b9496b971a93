// Linear algebra: of the last two dimensions, for each matrix of a stack. Matrices of f32, f64, c64
// and c128; integers become f32. NaN and infinity are errors, and so is a matrix that has no such
// factors: the error says which of the stack it is.
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
  Tensor values, vectors;  // vectors are columns
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
  Tensor lu;     // L below the diagonal, where its own is 1, and U from there on
  Tensor order;  // which row of A stands at each place
};

// ---- Factors.

// The lower (or upper) triangular L with A = L Lᴴ (Lᴴ L) of a Hermitian, positive definite A. The
// Hermitian part of A is taken.
Tensor cholesky(const Tensor& a, bool upper = false);
// A = P L U, with a permutation P of the rows. Derivatives: where the first min(m, n) columns of an
// m × n matrix are independent.
Lu lu(const Tensor& a);
LuFactors lu_factor(const Tensor& a);  // the same, as lu_solve takes it
// A = Q R. Derivatives: where the first min(m, n) columns of an m × n matrix are independent; in
// the complete mode, of no matrix with m > n.
enum class QrMode : uint8_t { reduced, complete };
Qr qr(const Tensor& a, QrMode mode = QrMode::reduced);
// Of the Hermitian part of A, in ascending order. Derivatives: where all values differ. Where some
// do not, the first ones of what treats these alike, such as the sum of a function of the values.
Eigenpairs eigh(const Tensor& a);
Tensor eigvalsh(const Tensor& a);
// Of any square matrix; complex, in no order. Vectors have the length 1 and any phase. Derivatives:
// where all values differ.
Eigenpairs eig(const Tensor& a);
Tensor eigvals(const Tensor& a);
// A = U S Vᴴ with S in descending order; U and Vᴴ are square where `full_matrices`. Derivatives: as
// of eigh; of vectors, and the second ones, where no value is 0; not of the columns that full
// matrices add.
Svd svd(const Tensor& a, bool full_matrices = false);
Tensor svdvals(const Tensor& a);
// A = Z T Zᴴ with a unitary Z and an upper triangle T, which has the eigenvalues on its diagonal;
// in the real form of a real matrix, two rows for each pair that is not real. Without derivatives.
enum class SchurForm : uint8_t { real, complex };
Schur schur(const Tensor& a, SchurForm form = SchurForm::real);

// ---- Equations.

// A X = B. B is a vector where it has one dimension, else a stack of matrices.
Tensor solve(const Tensor& a, const Tensor& b);
// Of the one triangle of A, with ones on its diagonal where `unit_diagonal`. B as above. NaN
// and infinity are no errors here, and go on into the result.
Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper = true,
                        bool unit_diagonal = false);
// With the factors that lu_factor or cholesky gives of A in place of A. B as above.
Tensor lu_solve(const Tensor& lu, const Tensor& order, const Tensor& b);
Tensor cholesky_solve(const Tensor& factor, const Tensor& b, bool upper = false);
Tensor inv(const Tensor& a);
Tensor cholesky_inverse(const Tensor& factor, bool upper = false);
// The inverse of Moore and Penrose. Singular values below `tolerance` times the greatest count as
// 0; negative: max(rows, columns) times the step from 1 to the next number. Derivatives: along what
// leaves the rank as it is.
Tensor pinv(const Tensor& a, double tolerance = -1);
// The shortest X for which |A X - B| is least, and the sum of the squares of what is left for each
// column of B. Tolerance and derivatives as for pinv.
LeastSquares lstsq(const Tensor& a, const Tensor& b, double tolerance = -1);

// A · X = B, summed over all dimensions of X, which are the last ones of A; `axes` of A come last.
Tensor tensorsolve(const Tensor& a, const Tensor& b, const std::vector<int64_t>& axes = {});
// The X for which tensordot(X, B, count) solves A · Y = B, where B has `count` dimensions.
Tensor tensorinv(const Tensor& a, int64_t count = 2);

// ---- Numbers.

// Derivatives: of any matrix, singular or not, the first and the second one; further ones where its
// singular values differ and are not 0.
Tensor det(const Tensor& a);
// det A = sign · e^logabsdet; 0 and -inf of a singular one, which has no derivative.
SignAndLogDet slogdet(const Tensor& a);
Tensor matrix_rank(const Tensor& a, double tolerance = -1);  // as for pinv
Tensor trace(const Tensor& a, int64_t offset = 0);           // of one diagonal
Tensor matrix_power(const Tensor& a, int64_t exponent);
Tensor expm(const Tensor& a);  // e^A, the sum of A^k / k!; infinity or NaN where that overflows

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
// (Σ |x|^order)^(1 / order); the greatest |x| for infinity, the least for -infinity, how many are
// not 0 for 0.
Tensor vector_norm(const Tensor& x, double order = 2, const Axes& axes = {}, bool keepdims = false);
enum class MatrixNorm : uint8_t {
  frobenius,      // the root of Σ |x|²
  nuclear,        // the sum of the singular values
  greatest,       // singular value
  least,          // singular value
  one,            // greatest sum of |x| down a column
  least_one,      // least such sum
  infinity,       // greatest sum along a row
  least_infinity  // least such sum
};
Tensor matrix_norm(const Tensor& x, MatrixNorm norm = MatrixNorm::frobenius, bool keepdims = false);
// How much the norm of a matrix times that of its inverse is: by how much errors grow. Infinity of
// a singular matrix, which is an error for other norms than `greatest` and `least`. Those two take
// any matrix.
Tensor cond(const Tensor& a, MatrixNorm norm = MatrixNorm::greatest);
// As NumPy's: without an order the root of Σ |x|² of all numbers; with one, of vectors along one
// axis, and of matrices (1, -1, 2, -2, ±infinity) along two.
Tensor norm(const Tensor& x, std::optional<double> order = {},
            const std::vector<int64_t>& axes = {}, bool keepdims = false);

// ---- Products.

// a × b of vectors of three along an axis.
Tensor cross(const Tensor& a, const Tensor& b, int64_t axis = -1);
// Kronecker's: each element of a times the whole of b.
Tensor kron(const Tensor& a, const Tensor& b);
// All of them, in the order that takes the fewest multiplications. Matrices, or stacks of them; the
// first may be a vector, which is a row then, and the last one, which is a column.
Tensor multi_dot(std::span<const Tensor> factors);

// ---- Matrices made of numbers.

// x⁰, x¹, x², … of each element along one more dimension, as many as x has elements along its last.
Tensor vander(const Tensor& x, std::optional<int64_t> count = {}, bool increasing = true);
// With the same number along each diagonal: those of a column, and behind the first those of a row,
// which is the column's conjugate unless given. The first of the row is not looked at.
Tensor toeplitz(const Tensor& column, const Tensor& row = {});
// One behind the other down the diagonal of one matrix; vectors are rows.
Tensor block_diag(std::span<const Tensor> blocks);

// ---- Under the names of the Array API.

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
