// plait.linalg and plait.fft.
#include <cmath>

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/fft/fft.h"
#include "plait/ops/linalg/linalg.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/statistics.h"

#include "python/bindings/functions/bind.h"

namespace plait::python {

template <>
inline constexpr std::array kChoices<linalg::QrMode> = {std::string_view("reduced"),
                                                        std::string_view("complete")};
template <>
inline constexpr std::array kChoices<linalg::SchurForm> = {std::string_view("real"),
                                                           std::string_view("complex")};
template <>
inline constexpr std::array kChoices<fft::Norm> = {
    std::string_view("backward"), std::string_view("ortho"), std::string_view("forward")};

template <>
inline constexpr std::array<std::string_view, 2> kNamesOfResults<linalg::Qr> = {"Q", "R"};
template <>
inline constexpr std::array<std::string_view, 2> kNamesOfResults<linalg::Eigenpairs> = {
    "eigenvalues", "eigenvectors"};
template <>
inline constexpr std::array<std::string_view, 3> kNamesOfResults<linalg::Svd> = {"U", "S", "Vh"};

// The order of a norm as in NumPy: "fro", "nuc", 1, -1, 2, -2, infinity or minus infinity.
class MatrixNormOrder {
 public:
  linalg::MatrixNorm norm() const { return norm_; }

 private:
  friend void read(nb::handle given, MatrixNormOrder& order);
  linalg::MatrixNorm norm_ = linalg::MatrixNorm::frobenius;
};

std::string annotation(Of<MatrixNormOrder>) { return "Literal['fro', 'nuc'] | float"; }
void read(nb::handle given, MatrixNormOrder& order) {
  using linalg::MatrixNorm;
  if (nb::isinstance<nb::str>(given)) {
    constexpr std::array<std::string_view, 2> names = {"fro", "nuc"};
    order.norm_ = choice_from(given, names) == 0 ? MatrixNorm::frobenius : MatrixNorm::nuclear;
    return;
  }
  double number = 0;
  read(given, number);
  const double magnitude = std::abs(number);
  if (magnitude == 1)
    order.norm_ = number > 0 ? MatrixNorm::one : MatrixNorm::least_one;
  else if (magnitude == 2)
    order.norm_ = number > 0 ? MatrixNorm::greatest : MatrixNorm::least;
  else if (std::isinf(magnitude))
    order.norm_ = number > 0 ? MatrixNorm::infinity : MatrixNorm::least_infinity;
  else
    throw ValueError("{} is not one of 'fro', 'nuc', 1, -1, 2, -2, inf and -inf", number);
}

namespace {

using nb::arg;
using T = const Tensor&;

Tensor matrix_norm_of(T x, const MatrixNormOrder& order, bool keepdims) {
  return linalg::matrix_norm(x, order.norm(), keepdims);
}
Tensor cond_of(T a, const MatrixNormOrder& order) { return linalg::cond(a, order.norm()); }

void bind_factors(nb::module_& m) {
  using namespace linalg;
  add_functions<Tensor(T, bool)>(
      m,
      {{"cholesky", cholesky,
        "The Cholesky factor: the lower triangular L with A = L L^H, or the upper one."}},
      arg("a"), arg("upper") = false);
  add_functions<Lu(T)>(m,
                       {{"lu", lu,
                         "The LU decomposition A = P L U, with a permutation P of the rows. "
                         "Differentiable where A's first columns are independent."}},
                       arg("a"));
  add_functions<LuFactors(T)>(
      m,
      {{"lu_factor", lu_factor,
        "L and U in one matrix, and the permutation of the rows, for lu_solve."}},
      arg("a"));
  add_functions<Qr(T, QrMode)>(
      m,
      {{"qr", qr,
        "The QR decomposition A = Q R. Modes: reduced, complete (Q is square). Differentiable "
        "where A's first columns are independent; not for tall matrices if complete."}},
      arg("a"), arg("mode") = "reduced");
  add_functions<Eigenpairs(T)>(
      m,
      {{"eigh", eigh,
        "Eigenvalues, in ascending order, and eigenvectors, as columns, of the Hermitian part of "
        "A. Differentiable where eigenvalues differ; with equal ones the first derivatives of "
        "functions of the eigenvalues that treat these alike, all others are NaN."},
       {"eig", eig,
        "Eigenvalues and eigenvectors of a square matrix; complex, in no specific order. "
        "Differentiable "
        "where eigenvalues differ."}},
      arg("a"));
  add_functions<Schur(T, SchurForm)>(
      m,
      {{"schur", schur,
        "The Schur decomposition A = Z T Z^H with an upper triangular T. Forms: real (2 x 2 blocks "
        "for pairs of complex eigenvalues), complex. Not differentiable."}},
      arg("a"), arg("form") = "real");
  add_functions<Svd(T, bool)>(
      m,
      {{"svd", svd,
        "The singular value decomposition A = U S V^H, with S in descending order. Differentiable "
        "as eigh is, and vectors only where no singular value is 0."}},
      arg("a"), arg("full_matrices") = true);
  add_functions<Tensor(T)>(m,
                           {{"eigvalsh", eigvalsh, "The eigenvalues of eigh."},
                            {"eigvals", eigvals, "The eigenvalues of eig."},
                            {"svdvals", svdvals, "The singular values, in descending order."},
                            {"inv", inv, "The inverse."},
                            {"det", det, "The determinant; differentiable for singular A too."},
                            {"expm", expm, "The matrix exponential, the sum of A^k / k!."}},
                           arg("a"));
}

// Relative to the largest singular value: one tolerance for all matrices, or one each.
using Tolerance = std::optional<PythonOperand>;
// The threshold for singular values.
Tensor counting(T values, T tolerance) {
  return greater(values, max(values, -1, true) * expand_dims(tolerance, -1));
}
Tensor pinv_of(T a, const Tolerance& rtol) {
  if (!rtol) return linalg::pinv(a);
  if (!rtol->get().is_tensor()) return linalg::pinv(a, number_of(rtol->get().scalar()));
  const auto [u, s, vh] = linalg::svd(a);
  const Tensor inverse = where(counting(s, rtol->tensor()), reciprocal(s), 0);
  return matmul(conj(matrix_transpose(vh)) * expand_dims(inverse, -2), conj(matrix_transpose(u)));
}
Tensor matrix_rank_of(T a, const Tolerance& rtol) {
  if (!rtol) return linalg::matrix_rank(a);
  if (!rtol->get().is_tensor()) return linalg::matrix_rank(a, number_of(rtol->get().scalar()));
  return count_nonzero(counting(linalg::svdvals(a), rtol->tensor()), -1);
}
Tensor trace_of(T a, int64_t offset, std::optional<DType> dtype) {
  return dtype ? astype(linalg::trace(astype(a, *dtype), offset), *dtype)
               : linalg::trace(a, offset);
}

void bind_equations(nb::module_& m) {
  using namespace linalg;
  add_functions<Tensor(T, T)>(m, {{"solve", solve, "X with A X = B."}}, arg("a"), arg("b"));
  add_functions<Tensor(T, T, bool, bool)>(
      m, {{"solve_triangular", solve_triangular, "X with A X = B, using one triangle of A."}},
      arg("a"), arg("b"), arg("upper") = true, arg("unit_diagonal") = false);
  add_functions<Tensor(T, T, T)>(
      m, {{"lu_solve", lu_solve, "X with A X = B, from the lu_factor of A."}}, arg("lu"),
      arg("order"), arg("b"));
  add_functions<Tensor(T, T, bool)>(
      m, {{"cholesky_solve", cholesky_solve, "X with A X = B, from the Cholesky factor of A."}},
      arg("factor"), arg("b"), arg("upper") = false);
  add_functions<Tensor(T, bool)>(
      m,
      {{"cholesky_inverse", cholesky_inverse, "The inverse of A, from the Cholesky factor of A."}},
      arg("factor"), arg("upper") = false);
  add_functions<Tensor(T, T, const std::vector<int64_t>&)>(
      m,
      {{"tensorsolve", tensorsolve,
        "X with A X = B, summed over all dimensions of X; the given axes of A are moved to the "
        "end."}},
      arg("a"), arg("b"), arg("axes") = nb::none());
  add_functions<Tensor(T, int64_t)>(
      m,
      {{"tensorinv", tensorinv,
        "The inverse for tensordot: Y = tensordot(tensorinv(A), B, count) solves A Y = B."}},
      arg("a"), arg("count") = 2);
  add_functions<LeastSquares(T, T, double)>(
      m,
      {{"lstsq", lstsq,
        "The least-squares solution X of A X = B with the smallest norm, and the residuals. "
        "Differentiable as pinv is."}},
      arg("a"), arg("b"), arg("rtol") = -1.0);
  add_functions<Tensor(T, const Tolerance&)>(
      m,
      {{"pinv", pinv_of,
        "The pseudo-inverse; singular values below rtol * greatest count as 0. Differentiable "
        "along directions that keep the rank."},
       {"matrix_rank", matrix_rank_of,
        "The rank: the number of singular values above rtol * greatest."}},
      arg("a"), arg("rtol") = nb::none());
  add_functions<SignAndLogDet(T)>(m,
                                  {{"slogdet", slogdet,
                                    "The sign and logarithm of the determinant: det A = sign * "
                                    "exp(logabsdet); 0 and -inf if A is singular."}},
                                  arg("a"));
  add_functions<Tensor(T, int64_t, std::optional<DType>)>(
      m, {{"trace", trace_of, "The trace: the sum of one diagonal."}}, arg("a"), arg("offset") = 0,
      arg("dtype") = nb::none());
  add_functions<Tensor(T, int64_t)>(m, {{"matrix_power", matrix_power, "The n-th power of A."}},
                                    arg("a"), arg("n"));
}

void bind_norms(nb::module_& m) {
  using namespace linalg;
  add_functions<Tensor(T, double, const Axes&, bool)>(
      m, {{"vector_norm", vector_norm, "(sum |x|^ord)^(1/ord)."}}, arg("x"), arg("ord") = 2.0,
      arg("axis") = nb::none(), arg("keepdims") = false);
  add_functions<Tensor(T, const MatrixNormOrder&, bool)>(
      m,
      {{"matrix_norm", matrix_norm_of,
        "The norm of matrices. Orders: 'fro', 'nuc', 1, -1, 2, -2, inf, -inf."}},
      arg("x"), arg("ord") = "fro", arg("keepdims") = false);
  add_functions<Tensor(T, const MatrixNormOrder&)>(
      m,
      {{"cond", cond_of,
        "The condition number: the norm of A times that of its inverse. Orders: 2, -2, 'fro', "
        "'nuc', 1, -1, inf, -inf."}},
      arg("a"), arg("ord") = 2.0);
  add_functions<Tensor(T, std::optional<double>, const std::vector<int64_t>&, bool)>(
      m,
      {{"norm", norm,
        "The norm of all elements, of vectors along one axis, or of matrices along two."}},
      arg("x"), arg("ord") = nb::none(), arg("axis") = nb::none(), arg("keepdims") = false);
  add_functions<Tensor(T, T, int64_t)>(
      m, {{"cross", cross, "The cross product of vectors of length 3."}}, arg("a"), arg("b"),
      arg("axis") = -1);
  add_functions<Tensor(T, T)>(
      m, {{"kron", kron, "The Kronecker product: each element of a times the whole of b."}},
      arg("a"), arg("b"));
}

void bind_made_of_others(nb::module_& m) {
  using namespace linalg;
  add_functions<Tensor(std::span<const Tensor>)>(
      m,
      {{"multi_dot", multi_dot,
        "The product of all matrices, in the order with the fewest multiplications."},
       {"block_diag", block_diag, "A block-diagonal matrix of these matrices."}},
      arg("tensors"));
  add_functions<Tensor(T, std::optional<int64_t>, bool)>(
      m,
      {{"vander", vander, "The powers x^0, x^1, x^2, ... of each element along a new dimension."}},
      arg("x"), arg("count") = nb::none(), arg("increasing") = true);
  add_functions<Tensor(T, T)>(m,
                              {{"toeplitz", toeplitz,
                                "A Toeplitz matrix (constant along each diagonal) from its first "
                                "column and first row (conj(column) by default)."}},
                              arg("column"), arg("row") = nb::none());
}

template <Tensor (*make)(int64_t, double, DType)>
Tensor frequencies(int64_t n, double d, DType dtype, const Placement&) {
  return make(n, d, dtype);
}

using SomeAxes = std::optional<std::vector<int64_t>>;
template <Tensor (*shift)(T, const fft::AxisList&)>
Tensor shift_along(T x, const SomeAxes& axes) {
  return axes && axes->empty() ? x : shift(x, axes.value_or(fft::AxisList()));
}

void bind_fourier(nb::module_& m) {
  using namespace fft;
  add_functions<Tensor(T, Length, int64_t, Norm)>(
      m,
      {{"fft", fft::fft,
        "The discrete Fourier transform along an axis of length n: the sum over j of x[j] exp(-2 "
        "pi i j k / n)."},
       {"ifft", ifft, "The inverse of fft."},
       {"rfft", rfft,
        "The Fourier transform of real numbers: the first n // 2 + 1 results, which determine the "
        "others."},
       {"irfft", irfft, "The inverse of rfft: n real numbers."},
       {"hfft", hfft,
        "The Fourier transform of a Hermitian signal, given by its first half; the spectrum is "
        "real."},
       {"ihfft", ihfft, "The inverse of hfft."}},
      arg("x"), arg("n") = nb::none(), arg("axis") = -1, arg("norm") = "backward");
  add_functions<Tensor(T, const Lengths&, const AxisList&, Norm)>(
      m,
      {{"fftn", fftn, "The Fourier transform along several axes, or all."},
       {"ifftn", ifftn, "The inverse of fftn."},
       {"rfftn", rfftn,
        "The Fourier transform of real numbers along several axes; the last one is halved."},
       {"irfftn", irfftn, "The inverse of rfftn."}},
      arg("x"), arg("s") = nb::none(), arg("axes") = nb::none(), arg("norm") = "backward");
  add_functions<Tensor(T, const Lengths&, const AxisList&, Norm)>(
      m,
      {{"fft2", fft2, "The Fourier transform along two axes."},
       {"ifft2", ifft2, "The inverse of fft2."},
       {"rfft2", rfft2,
        "The Fourier transform of real numbers along several axes; the last one is halved."},
       {"irfft2", irfft2, "The inverse of rfft2."}},
      arg("x"), arg("s") = nb::none(), arg("axes") = nb::make_tuple(-2, -1),
      arg("norm") = "backward");
  add_functions<Tensor(int64_t, double, DType, const Placement&)>(
      m,
      {{"fftfreq", frequencies<fftfreq>,
        "The frequencies of the n results of fft, for samples at a distance d."},
       {"rfftfreq", frequencies<rfftfreq>, "The first n // 2 + 1 frequencies, those of rfft."}},
      arg("n"), arg("d") = 1.0, arg("dtype") = nb::cast(PythonDType{DType::f32}),
      arg("device") = nb::none());
  add_functions<Tensor(T, const SomeAxes&)>(
      m,
      {{"fftshift", shift_along<fftshift>,
        "Moves the frequency 0 to the middle, along the axes, or all."},
       {"ifftshift", shift_along<ifftshift>, "The inverse of fftshift."}},
      arg("x"), arg("axes") = nb::none());
}

}  // namespace

void bind_linalg(nb::module_& module) {
  nb::module_ linalg = module.def_submodule("linalg", "Factorizations, linear systems, norms.");
  bind_factors(linalg);
  bind_equations(linalg);
  bind_norms(linalg);
  bind_made_of_others(linalg);
  // The Array API has these in both namespaces.
  for (const char* name :
       {"diagonal", "matmul", "matrix_transpose", "outer", "tensordot", "vecdot"}) {
    linalg.attr(name) = module.attr(name);
  }
}

void bind_fft(nb::module_& module) {
  nb::module_ fft = module.def_submodule("fft", "Fourier transforms of any length, like NumPy's.");
  bind_fourier(fft);
}

}  // namespace plait::python
