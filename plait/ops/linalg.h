// Linear algebra: of the last two dimensions, for each matrix of a stack. Matrices of f32, f64, c64
// and c128; integers become f32. NaN and infinity are errors, and so is a matrix that has no such
// factors: the error says which of the stack it is.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "plait/ops/reduce.h"

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

// ---- Factors.

// The lower (or upper) triangular L with A = L Lᴴ (Lᴴ L) of a Hermitian, positive definite A. The
// Hermitian part of A is taken.
Tensor cholesky(const Tensor& a, bool upper = false);
// A = P L U, with a permutation P of the rows.
Lu lu(const Tensor& a);
enum class QrMode : uint8_t { reduced, complete };
Qr qr(const Tensor& a, QrMode mode = QrMode::reduced);
// Of the Hermitian part of A, in ascending order.
Eigenpairs eigh(const Tensor& a);
Tensor eigvalsh(const Tensor& a);
// Of any square matrix; complex, in no order.
Eigenpairs eig(const Tensor& a);
Tensor eigvals(const Tensor& a);
// A = U S Vᴴ with S in descending order; U and Vᴴ are square where `full_matrices`.
Svd svd(const Tensor& a, bool full_matrices = false);
Tensor svdvals(const Tensor& a);

// ---- Equations.

// A X = B. B is a vector where it has one dimension, else a stack of matrices.
Tensor solve(const Tensor& a, const Tensor& b);
// Of the one triangle of A, with ones on its diagonal where `unit_diagonal`. B as above. NaN
// and infinity are no errors here, and go on into the result.
Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper = true,
                        bool unit_diagonal = false);
Tensor inv(const Tensor& a);
// The inverse of Moore and Penrose. Singular values below `tolerance` times the greatest count as
// 0; negative: max(rows, columns) times the step from 1 to the next number.
Tensor pinv(const Tensor& a, double tolerance = -1);
// The shortest X for which |A X - B| is least, and the sum of the squares of what is left for each
// column of B. Tolerance as for pinv.
LeastSquares lstsq(const Tensor& a, const Tensor& b, double tolerance = -1);

// ---- Numbers.

Tensor det(const Tensor& a);
// det A = sign · e^logabsdet; 0 and -inf of a singular one.
SignAndLogDet slogdet(const Tensor& a);
Tensor matrix_rank(const Tensor& a, double tolerance = -1);  // as for pinv
Tensor trace(const Tensor& a, int64_t offset = 0);           // of one diagonal
Tensor matrix_power(const Tensor& a, int64_t exponent);

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
// As NumPy's: without an order the root of Σ |x|² of all numbers; with one, of vectors along one
// axis, and of matrices (1, -1, 2, -2, ±infinity) along two.
Tensor norm(const Tensor& x, std::optional<double> order = {},
            const std::vector<int64_t>& axes = {}, bool keepdims = false);

// ---- Products.

// a × b of vectors of three along an axis.
Tensor cross(const Tensor& a, const Tensor& b, int64_t axis = -1);
// Kronecker's: each element of a times the whole of b.
Tensor kron(const Tensor& a, const Tensor& b);

}  // namespace plait::linalg

namespace plait {

void register_linalg_ops();

}  // namespace plait
