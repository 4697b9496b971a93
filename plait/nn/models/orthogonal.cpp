#include "plait/nn/models/orthogonal.h"

#include <utility>

#include "plait/core/error.h"
#include "plait/core/numbers/element.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/matrix_parts.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/linalg/linalg.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/transform/control/control.h"

namespace plait::nn {
namespace {

int64_t rows_of(const Tensor& x) { return x.shape(-2).number(); }
int64_t columns_of(const Tensor& x) { return x.shape(-1).number(); }
bool is_wide(const Tensor& x) { return rows_of(x) < columns_of(x); }

// Transposed if it has more columns than rows, and back.
Tensor tall(const Tensor& x) { return is_wide(x) ? matrix_transpose(x) : x; }

Tensor eye_like(const Tensor& x) { return eye(rows_of(x), columns_of(x), x.dtype()); }
Tensor square_eye_like(const Tensor& x) { return eye(rows_of(x), -1, x.dtype()); }
Tensor first_columns(const Tensor& x, int64_t count) { return x[{ellipsis, Slice{{}, count}}]; }

Tensor adjoint(const Tensor& x) {
  const Tensor transposed = matrix_transpose(x);
  return is_complex(x.dtype()) ? conj(transposed) : transposed;
}

// The sign of each number; 1 for 0.
Tensor signs_of(const Tensor& x) { return where(x == 0, ones_like(x), sign(x)); }

// The skew-Hermitian square matrix of the numbers on and below the diagonal; columns that are
// missing are 0.
Tensor skew(const Tensor& x) {
  const Tensor lower = pad_zeros(tril(x), -1, 0, rows_of(x) - columns_of(x));
  return lower - adjoint(lower);
}

Tensor by_exponential(const Tensor& x) {
  return first_columns(linalg::expm(skew(x)), columns_of(x));
}

// (I − A/2)⁻¹ (I + A/2), its first columns.
Tensor by_cayley(const Tensor& x) {
  const Tensor half = skew(x) / 2, one = square_eye_like(x);
  return linalg::solve(one - half, first_columns(one + half, columns_of(x)));
}

// The first columns of the product of the reflections I − 2 v vᵀ / ‖v‖², where v has a 1 on the
// diagonal and the numbers below it, times the signs on the diagonal. The product is I − V T Vᵀ:
// the inverse of T is the upper triangle of VᵀV, with half of its diagonal.
Tensor by_householder(const Tensor& x) {
  const int64_t count = columns_of(x);
  const Tensor v = tril(x, -1) + eye_like(x);
  const Tensor squares = matmul(matrix_transpose(v), v);
  const Tensor inverse = triu(squares, 1) + square_eye_like(squares) * squares / 2;
  const Tensor top = v[{ellipsis, Slice{{}, count}, Slice{}}];
  const Tensor right = linalg::solve_triangular(inverse, matrix_transpose(top));
  const Tensor product = eye_like(x) - matmul(v, right);
  return product * expand_dims(signs_of(stop_gradient(diagonal(x))), -2);
}

Tensor mapped(OrthogonalMap map, const Tensor& x) {
  switch (map) {
    case OrthogonalMap::matrix_exp: return by_exponential(x);
    case OrthogonalMap::cayley: return by_cayley(x);
    default: return by_householder(x);
  }
}

// Numbers of which by_householder computes the orthogonal factor of a matrix: the vectors of its
// reflections, and signs.
Tensor reflections(const Tensor& x) {
  if (columns_of(x) == 0) return x;
  const Tensor rows = expand_dims(iota(rows_of(x)), -1);
  const Tensor columns = expand_dims(iota(columns_of(x)), -1);
  const auto step = [&](const Tensor& rest, const Tensor& i) {
    const auto total = [](const Tensor& each) { return sum(each, -2, true); };
    const Tensor is_first = rows == i;
    const Tensor column = matmul(rest, astype(columns == i, rest.dtype()));
    const Tensor below = where(rows >= i, column, 0);
    const Tensor sign = signs_of(total(where(is_first, below, 0)));
    const Tensor size = sqrt(total(square(below)));
    const Tensor moved = below + where(is_first, sign * size, 0);
    const Tensor head = total(where(is_first, moved, 0));
    const Tensor v = where(is_first, ones_like(moved), moved / where(head == 0, 1, head));
    const Tensor factors = matmul(matrix_transpose(v), rest) / total(square(v));
    const Tensor next = rest - 2 * v * factors;
    return std::pair(next, std::pair(squeeze(v, -1), -squeeze(squeeze(sign, -1), -1)));
  };
  const auto made = scan(step, x, iota(columns_of(x))).second;
  const Tensor v = moveaxis(made.first, 0, -1), signs = moveaxis(made.second, 0, -1);
  return tril(v, -1) + expand_dims(signs, -2) * eye_like(x);
}

// The square Q of the factorisation QR whose R has no negative numbers on the diagonal; it begins
// with the columns of an orthogonal matrix.
Tensor with_positive_diagonal(const Tensor& x) {
  const int64_t count = columns_of(x);
  const auto [q, r] = linalg::qr(x, linalg::QrMode::complete);
  const Tensor signed_columns = first_columns(q, count) * expand_dims(signs_of(diagonal(r)), -2);
  if (rows_of(x) == count) return signed_columns;
  return concat(std::vector<Tensor>{signed_columns, q[{ellipsis, Slice{count, {}}}]}, -1);
}

// The square orthogonal matrix that begins with the columns of a matrix; a square one that is
// orthogonal stays as it is.
Tensor base_of(const Tensor& x) {
  const Tensor made = with_positive_diagonal(x);
  const int64_t count = columns_of(x);
  if (rows_of(x) != count) return made;
  const double limit =
      10 * static_cast<double>(count) * float_limits(plait::real_dtype(x.dtype())).epsilon;
  const Tensor distance = absolute(matmul(adjoint(x), x) - square_eye_like(x));
  return where(all(distance <= limit), x, made);
}

void expect_matrix(const Tensor& weight, const OrthogonalOptions& options) {
  if (!is_inexact(weight.dtype())) {
    throw TypeError("the weight is {}, expected floats", weight.type().text())
        .at(Location::of_caller());
  }
  if (weight.rank() < 2) {
    throw ShapeError("the weight is {}, expected a matrix, or several: [..., rows, columns]",
                     weight.type().text())
        .at(Location::of_caller());
  }
  if (options.orthogonal_map != OrthogonalMap::householder || !is_complex(weight.dtype())) return;
  throw TypeError("the weight is {}, and the map householder is for real numbers",
                  weight.type().text())
      .at(Location::of_caller())
      .hint("{.orthogonal_map = nn::OrthogonalMap::matrix_exp}");
}

}  // namespace

OrthogonalWeight OrthogonalWeight::of(const Tensor& weight, const OrthogonalOptions& options) {
  const Call call("nn::orthogonal", weight);
  expect_matrix(weight, options);
  const bool by_exponential = rows_of(weight) == columns_of(weight) || is_complex(weight.dtype());
  OrthogonalWeight made{.original = weight};
  made.orthogonal_map = options.orthogonal_map.value_or(
      by_exponential ? OrthogonalMap::matrix_exp : OrthogonalMap::householder);
  const Tensor known = tall(stop_gradient(weight));
  if (options.use_trivialization) {
    made.trivialized = OrthogonalBase{base_of(known)};
    made.original = broadcast_to(-eye_like(weight), weight.shape());
  } else if (made.orthogonal_map == OrthogonalMap::householder) {
    const Tensor found = reflections(known);
    made.original = is_wide(weight) ? matrix_transpose(found) : found;
  }
  return made;
}

Tensor OrthogonalWeight::value() const {
  Tensor found = mapped(orthogonal_map, tall(original));
  if (trivialized) found = matmul(trivialized->base, found);
  return is_wide(original) ? matrix_transpose(found) : found;
}

}  // namespace plait::nn
