#include "plait/ops/linalg/linalg.h"

#include <cmath>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/cpu/inside/libraries/lapack.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/matrix_parts.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/linalg/linalg_parts.h"
#include "plait/ops/inside/linalg/linalg_primitives.h"
#include "plait/ops/inside/linalg/linalg_routines.h"
#include "plait/ops/products/linear.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/trace_function.h"

#include "tests/ops/numeric_check.h"
#include "tests/support/errors.h"
#include "tests/support/threads.h"

namespace plait {
namespace {

constexpr DType kInexactDTypes[] = {DType::f32, DType::f64, DType::c64, DType::c128};

double epsilon_of(const Tensor& x) { return float_limits(real_dtype(x.dtype())).epsilon; }

void expect_close(const Tensor& a, const Tensor& b, double steps = 200) {
  EXPECT_LE(distance(a, b), steps * epsilon_of(b)) << a.text() << '\n' << b.text();
}
// Checks that the columns are orthonormal.
void expect_unitary(const Tensor& q) {
  const Tensor square = matmul(adjoint(q), q);
  expect_close(square, broadcast_to(identity(q.shape(-1), q.shape(-1), q.dtype()), square.shape()));
}

// Runs with the library of the build, and with the reference loops.
class Linalg : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    arange(1).array();
    if (GetParam()) use_linalg_routines(kReferenceRoutines);
  }
  void TearDown() override { register_lapack(); }
};
INSTANTIATE_TEST_SUITE_P(Both, Linalg, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Reference" : "Library"; });

const Shape kShapes[] = {{1, 1}, {3, 3}, {5, 3}, {3, 5}, {2, 4, 4}, {2, 0, 3, 2}, {7, 1}, {1, 6}};

TEST_P(Linalg, QrIsRight) {
  for (const DType dtype : kInexactDTypes) {
    for (const Shape& shape : kShapes) {
      const Tensor a = noise(1, shape, dtype);
      for (const auto mode : {linalg::QrMode::reduced, linalg::QrMode::complete}) {
        const auto [q, r] = linalg::qr(a, mode);
        expect_close(matmul(q, r), a);
        expect_unitary(q);
        expect_close(triu(r), r, 0);
      }
    }
  }
}

TEST_P(Linalg, LuIsRight) {
  for (const DType dtype : kInexactDTypes) {
    for (const Shape& shape : kShapes) {
      const Tensor a = noise(2, shape, dtype);
      const auto [p, l, u] = linalg::lu(a);
      expect_close(matmul(p, matmul(l, u)), a);
      expect_close(triu(u), u, 0);
      // LAPACK's pivoting compares complex numbers by |re| + |im|.
      if (shape.element_count() != Dim(0)) {
        EXPECT_LE(max(absolute(l)).item<double>(), is_complex(dtype) ? 1.5 : 1);
      }
      expect_unitary(p);
    }
  }
}

TEST_P(Linalg, CholeskyIsRight) {
  for (const DType dtype : kInexactDTypes) {
    for (const Shape& shape : {Shape{1, 1}, Shape{4, 4}, Shape{2, 3, 5, 5}, Shape{0, 0}}) {
      const Tensor a = positive_definite(3, shape, dtype);
      const Tensor l = linalg::cholesky(a), u = linalg::cholesky(a, true);
      expect_close(matmul(l, adjoint(l)), a, 2000);
      expect_close(matmul(adjoint(u), u), a, 2000);
      expect_close(strict_tril(u), zeros_like(u), 0);
    }
  }
}

TEST_P(Linalg, EighIsRight) {
  for (const DType dtype : kInexactDTypes) {
    for (const Shape& shape : {Shape{1, 1}, Shape{6, 6}, Shape{2, 3, 3}, Shape{0, 0}}) {
      const Tensor x = noise(4, shape, dtype), a = x + adjoint(x);
      const auto [w, v] = linalg::eigh(a);
      EXPECT_EQ(w.dtype(), real_dtype(dtype));
      expect_unitary(v);
      expect_close(matmul(a, v), scale_columns(v, w), 1000);
      const Tensor sorted = slice(w, -1, {.start = 1}) >= slice(w, -1, {.stop = -1});
      EXPECT_TRUE(all(sorted).item<bool>());
    }
  }
}

TEST_P(Linalg, SvdIsRight) {
  for (const DType dtype : kInexactDTypes) {
    for (const Shape& shape : kShapes) {
      const Tensor a = noise(5, shape, dtype);
      for (const bool full : {false, true}) {
        const auto [u, s, vh] = linalg::svd(a, full);
        expect_unitary(u);
        expect_unitary(adjoint(vh));
        const Dim k = s.shape(-1);
        const Tensor middle = matmul(identity(u.shape(-1), k, dtype),
                                     scale_rows(s, identity(k, vh.shape(-2), dtype)));
        expect_close(matmul(matmul(u, middle), vh), a, 1000);
      }
    }
  }
  // A matrix of lower rank.
  const Tensor column = noise(6, {5, 1}, DType::f64), row = noise(7, {1, 4}, DType::f64);
  const auto [u, s, vh] = linalg::svd(matmul(column, row));
  expect_unitary(u);
  expect_unitary(adjoint(vh));
  EXPECT_LT(max(slice(s, 0, {.start = 1})).item<double>(), 1e-14);
  expect_unitary(linalg::svd(zeros({4, 3}, DType::f64)).u);
}

TEST_P(Linalg, EquationsAreSolved) {
  for (const DType dtype : kInexactDTypes) {
    const Tensor a = noise(8, {2, 1, 5, 5}, dtype), b = noise(9, {3, 5, 2}, dtype);
    const Tensor x = linalg::solve(a, b);
    EXPECT_EQ(x.shape(), (Shape{2, 3, 5, 2}));
    expect_close(matmul(a, x), broadcast_to(b, x.shape()), 5000);
    const Tensor v = noise(10, {5}, dtype), y = linalg::solve(a, v);
    EXPECT_EQ(y.shape(), (Shape{2, 1, 5}));
    expect_close(matmul(a, expand_dims(y, -1)), broadcast_to(expand_dims(v, -1), {2, 1, 5, 1}),
                 5000);
    const Tensor both = matmul(a, linalg::inv(a));
    expect_close(both, broadcast_to(identity(5, 5, dtype), both.shape()), 5000);
    for (const bool unit : {false, true}) {
      Tensor u = triu(a);
      if (unit) u = u - diagonal_part(u) + identity(5, 5, dtype);
      // The other triangle is not read.
      const Tensor filled = where(triu(ones_like(u)) == 1, a, NAN);
      const Tensor z = linalg::solve_triangular(filled, v, true, unit);
      expect_close(matmul(u, expand_dims(z, -1)), broadcast_to(expand_dims(v, -1), {2, 1, 5, 1}),
                   20000);
      const Tensor t = linalg::solve_triangular(matrix_transpose(filled), v, false, unit);
      expect_close(matmul(matrix_transpose(u), expand_dims(t, -1)),
                   broadcast_to(expand_dims(v, -1), {2, 1, 5, 1}), 20000);
    }
  }
  EXPECT_EQ(linalg::solve(zeros({0, 0}), zeros({0, 3})).shape(), (Shape{0, 3}));
  EXPECT_EQ(linalg::inv(zeros({3, 0, 0})).shape(), (Shape{3, 0, 0}));
}

TEST_P(Linalg, EigIsRight) {
  for (const DType dtype : kInexactDTypes) {
    for (const Shape& shape : {Shape{1, 1}, Shape{2, 2}, Shape{2, 5, 5}, Shape{23, 23}}) {
      const Tensor x = noise(11, shape, dtype);
      const auto [w, v] = linalg::eig(x);
      expect_close(matmul(astype(x, v.dtype()), v), scale_columns(v, w), 5000);
      expect_close(linalg::vector_norm(v, 2, -2), ones(w.shape(), real_dtype(dtype)));
      if (is_complex(dtype)) continue;
      // Complex eigenvalues come in conjugate pairs.
      expect_close(sum(w, -1), astype(linalg::trace(x), w.dtype()), 1000);
    }
  }
  const Tensor a = tensor(std::vector<double>{0, 1, 0, 0, 0, 1, 1, 2, -1}, {3, 3});
  // Expected values by numpy.linalg.eigvals, sorted.
  auto found = numbers_of(linalg::eigvals(a));
  std::ranges::sort(found, {}, [](const auto& x) { return x.real(); });
  const double expected[] = {-1.8019377358048383, -0.4450418679126288, 1.2469796037174674};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_LT(std::abs(found[i] - expected[i]), 1e-14);
    EXPECT_EQ(found[i].imag(), 0);
  }
}

TEST_P(Linalg, SchurIsRight) {
  const auto check = [](const Tensor& a, linalg::SchurForm form) {
    const auto [t, z] = linalg::schur(a, form);
    expect_unitary(z);
    expect_close(matmul(z, matmul(t, adjoint(z))), astype(a, t.dtype()), 2000);
    expect_close(triu(t, is_complex(t.dtype()) ? 0 : -1), t, 0);
    // Diagonal blocks of size 2 do not overlap.
    const Tensor below = diagonal(t, -1), count = slice(below, -1, {.start = 1});
    expect_close(count * slice(below, -1, {.stop = -1}), zeros_like(count), 0);
  };
  for (const DType dtype : kInexactDTypes) {
    for (const Shape& shape : {Shape{2, 2}, Shape{2, 3, 3}, Shape{17, 17}, Shape{40, 40}}) {
      for (const auto form : {linalg::SchurForm::real, linalg::SchurForm::complex}) {
        check(noise(12, shape, dtype), form);
        check(zeros(shape, dtype), form);
        check(triu(noise(13, shape, dtype)), form);
        // A permutation, whose eigenvalues are on the unit circle.
        check(roll(identity(shape.at(-1), shape.at(-1), dtype), 1, 0), form);
      }
    }
    EXPECT_EQ(linalg::schur(zeros({0, 0}, dtype)).t.shape(), (Shape{0, 0}));
    EXPECT_EQ(linalg::schur(ones({1, 1}, dtype)).t.text(), ones({1, 1}, dtype).text());
  }
  EXPECT_EQ(linalg::schur(ones({2, 2}), linalg::SchurForm::complex).z.dtype(), DType::c64);
}

TEST_P(Linalg, ExpmIsRight) {
  for (const DType dtype : kInexactDTypes) {
    const auto expm = [&](const std::vector<double>& numbers, Sizes sizes) {
      return linalg::expm(astype(tensor(numbers, sizes), dtype));
    };
    const auto expect = [](const Tensor& found, const std::vector<std::complex<double>>& wanted) {
      for (const auto& x : wanted) ASSERT_TRUE(std::isfinite(x.real()));
      double size = 0;
      for (const auto& x : wanted) size = std::max(size, std::abs(x));
      EXPECT_LE(distance(found, wanted), 16 * epsilon_of(found) * size) << found.text();
    };
    expect(expm({0, 0, 0, 0}, {2, 2}), {1, 0, 0, 1});
    for (const double t : {1e-9, 1e-3, 0.1, 0.5, 1., 3., 20., 50.}) {
      const double c = std::cos(t), s = std::sin(t), ch = std::cosh(t), sh = std::sinh(t);
      expect(expm({t}, {1, 1}), {std::exp(t)});
      const Tensor turn = astype(tensor(std::vector<double>{0, -1, 1, 0}, {2, 2}), DType::f64) * t;
      EXPECT_LE(distance(linalg::expm(turn), {c, -s, s, c}), 1e-13);
      EXPECT_LE(distance(linalg::expm(turn * tensor(std::vector<double>{-1, 1}, {2, 1})),
                         {ch, sh, sh, ch}),
                1e-13 * ch);
      expect(expm({0, t, 0, 0, 0, t, 0, 0, 0}, {3, 3}), {1, t, t * t / 2, 0, 1, t, 0, 0, 1});
      // Off-diagonal elements that are far larger than the result.
      expect(expm({1, 1e6 * t, 0, -1}, {2, 2}),
             {std::exp(1), 1e6 * t * std::sinh(1), 0, std::exp(-1)});
    }
    expect(expm({0, 1e30, 0, 0}, {2, 2}), {1, 1e30, 0, 1});
    expect(expm({-700, 0, 0, -1}, {2, 2}), {std::exp(-700), 0, 0, std::exp(-1)});
    for (const Shape& shape : {Shape{3, 3}, Shape{2, 0, 3, 3}, Shape{2, 5, 5}, Shape{0, 0}}) {
      const Tensor a = noise(13, shape, dtype) * 0.7,
                   one = identity(shape.at(-1), shape.at(-1), dtype);
      expect_close(matmul(linalg::expm(a), linalg::expm(-a)), broadcast_to(one, shape), 5000);
    }
  }
  EXPECT_EQ(linalg::expm(zeros({2, 2}, DType::i32)).dtype(), DType::f32);
}

TEST_P(Linalg, DeterminantsOfAnyRank) {
  for (const DType dtype : kInexactDTypes) {
    for (const int64_t rank : {0, 1, 2, 3, 4}) {
      const Tensor a = matmul(noise(14, {2, 4, rank}, dtype), noise(15, {2, rank, 4}, dtype));
      const Tensor minors = apply(linalg_primitives().adjugate, {a}), det = linalg::det(a);
      const Tensor scaled = expand_dims(expand_dims(det, -1), -1) * identity(4, 4, dtype);
      expect_close(matmul(a, minors), scaled, 20000);
      expect_close(matmul(minors, a), scaled, 20000);
      // For rank 3 the adjugate has rank one, for a lower rank it is 0.
      EXPECT_EQ(max(absolute(minors)).item<double>() > 1e-3, rank > 2);
    }
    const Tensor a = astype(tensor(std::vector<double>{1, 2, 3, 4}, {2, 2}), dtype);
    expect_close(apply(linalg_primitives().adjugate, {a}),
                 astype(tensor(std::vector<double>{4, -2, -3, 1}, {2, 2}), dtype));
  }
}

TEST_P(Linalg, FactorsSolveToo) {
  for (const DType dtype : kInexactDTypes) {
    const Tensor a = noise(16, {2, 1, 4, 4}, dtype) + identity(4, 4, dtype) * 4;
    const Tensor s = positive_definite(17, {2, 1, 4, 4}, dtype);
    for (const Tensor& b : {noise(18, {3, 4, 2}, dtype), noise(19, {4}, dtype)}) {
      const auto [lu, order] = linalg::lu_factor(a);
      expect_close(linalg::lu_solve(lu, order, b), linalg::solve(a, b), 1000);
      for (const bool upper : {false, true}) {
        const Tensor factor = linalg::cholesky(s, upper);
        expect_close(linalg::cholesky_solve(factor, b, upper), linalg::solve(s, b), 5000);
        expect_close(linalg::cholesky_inverse(factor, upper), linalg::inv(s), 5000);
      }
    }
  }
}

TEST_P(Linalg, GivesNumPysFigures) {
  // Expected values by numpy.linalg.
  const Tensor a = tensor(std::vector<double>{4, 1, 2, 1, 3, 0, 2, 0, 5}, {3, 3});
  const Tensor b = tensor(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 10, 2, -1, 0}, {4, 3});
  EXPECT_LT(distance(linalg::det(a), {43}), 1e-13);
  EXPECT_EQ(linalg::slogdet(-a).sign.item<double>(), -1);
  EXPECT_LT(distance(linalg::slogdet(-a).logabsdet, {3.761200115693563}), 1e-14);
  EXPECT_LT(distance(linalg::cholesky(a), {2, 0, 0, 0.5, 1.6583123951777, 0, 1,
                                           -0.30151134457776363, 1.9771421064483223}),
            1e-14);
  EXPECT_LT(
      distance(linalg::eigvalsh(a), {1.854897308799576, 3.4760236029181333, 6.669079088282287}),
      1e-14);
  EXPECT_LT(
      distance(linalg::svdvals(b), {17.416621279395486, 2.3111929504997364, 0.5654116692010752}),
      2e-14);
  EXPECT_LT(
      distance(linalg::pinv(b), {-0.5173745173745175, 0.08494208494208487, 0.10424710424710432,
                                 0.22393822393822382, -1.0231660231660245, 0.27992277992278025,
                                 0.13899613899613927, -0.5347490347490357, 1.1853281853281867,
                                 -0.23938223938223965, -0.11196911196911227, 0.27799227799227894}),
      1e-13);
  EXPECT_LT(distance(absolute(linalg::qr(b).r),
                     {8.366600265340756, 9.083737430941392, 11.593717510543618, 0,
                      3.389058023361991, 3.1530042306900126, 0, 0, 0.8026696748757687}),
            1e-13);
  const auto fit = linalg::lstsq(b, tensor<double>({1, 2, 3, 4}));
  EXPECT_LT(distance(fit.solution, {0.8610038610038603, -2.185328185328192, 1.4826254826254883}),
            1e-13);
  EXPECT_LT(distance(fit.residuals, {0.49420849420849083}), 1e-13);
  EXPECT_EQ(fit.rank.item<int64_t>(), 3);
  const std::complex<double> i(0, 1);
  const Tensor c = tensor(std::vector<std::complex<double>>{1, 2. + i, 3. - i, 4. * i}, {2, 2});
  EXPECT_LT(distance(linalg::det(c), {-7. + 3. * i}), 1e-14);
  EXPECT_LT(distance(linalg::solve(c, tensor<std::complex<double>>({1, i})),
                     {-0.017241379310344796 - 0.29310344827586216 * i,
                      0.46551724137931044 - 0.08620689655172414 * i}),
            1e-15);
  EXPECT_LT(distance(linalg::svdvals(c), {5.48372567507441, 1.3887954206900706}), 1e-14);
}

TEST_P(Linalg, RefusesWhatHasNoFactors) {
  const Tensor good = identity(2, 2, DType::f32);
  const Tensor stack = concat(std::vector<Tensor>{
      broadcast_to(good, {1, 2, 2}), tensor(std::vector<float>{1, 2, 2, 4}, {1, 2, 2})});
  EXPECT_EQ(
      message_of<ValueError>([&] { linalg::solve(stack, ones({2, 1})); }),
      "solve of f32[2, 2, 2] and f32[2, 1]: matrix [1] of the batch is singular: pivot 1 is 0");
  EXPECT_EQ(message_of<ValueError>([&] { linalg::inv(zeros({2, 2})); }),
            "inv of f32[2, 2]: solve: the matrix is singular: pivot 0 is 0");
  EXPECT_EQ(
      message_of<ValueError>([&] { linalg::solve_triangular(stack * 0, ones({2})); }),
      "solve_triangular of f32[2, 2, 2] and f32[2]: triangular_solve: matrix [0] of the batch is "
      "singular: pivot 0 is 0");
  EXPECT_EQ(message_of<ValueError>([&] { linalg::cholesky(reshape(stack - good, {1, 2, 2, 2})); }),
            "cholesky of f32[1, 2, 2, 2]: matrix [0, 0] of the batch is not positive definite: its "
            "leading minor of "
            "order 1 is not positive");
  const Tensor nan = where(stack == 4, NAN, stack);
  using linalg::eig, linalg::eigh, linalg::svd, linalg::qr, linalg::lu, linalg::pinv;
  EXPECT_EQ(message_of<ValueError>([&] { eigh(nan); }),
            "eigh of f32[2, 2, 2]: matrix [1] of the batch contains NaN or infinity");
  EXPECT_EQ(message_of<ValueError>([&] { svd(nan); }),
            "svd of f32[2, 2, 2]: matrix [1] of the batch contains NaN or infinity");
  EXPECT_EQ(message_of<ValueError>([&] { qr(nan); }),
            "qr of f32[2, 2, 2]: matrix [1] of the batch contains NaN or infinity");
  EXPECT_EQ(message_of<ValueError>([&] { lu(nan); }),
            "lu of f32[2, 2, 2]: matrix [1] of the batch contains NaN or infinity");
  EXPECT_EQ(message_of<ValueError>([&] { pinv(nan); }),
            "pinv of f32[2, 2, 2]: matrix [1] of the batch contains NaN or infinity");
  EXPECT_EQ(message_of<ValueError>([&] { linalg::cholesky(nan * INFINITY); }),
            "cholesky of f32[2, 2, 2]: matrix [0] of the batch contains NaN or infinity");
  EXPECT_EQ(message_of<ValueError>([&] { linalg::expm(nan); }),
            "expm of f32[2, 2, 2]: matrix [1] of the batch contains NaN or infinity");
  EXPECT_EQ(message_of<ValueError>([&] { linalg::schur(nan); }),
            "schur of f32[2, 2, 2]: matrix [1] of the batch contains NaN or infinity");
  EXPECT_EQ(message_of<ValueError>([&] { linalg::det(nan); }),
            "det of f32[2, 2, 2]: determinant: matrix [1] of the batch contains NaN or infinity");
  EXPECT_EQ(distance(linalg::det(stack), {1, 0}), 0);
  EXPECT_EQ(linalg::slogdet(stack).logabsdet.text(), "[  0. -inf] : f32[2]");
}

TEST(LinalgErrors, NameShapesAndDTypes) {
  EXPECT_THROW(linalg::cholesky(zeros({2, 3})), ShapeError);
  EXPECT_THROW(linalg::det(zeros({3})), ShapeError);
  EXPECT_THROW(linalg::inv(zeros({2, 3})), ShapeError);
  EXPECT_THROW(linalg::eigh(zeros({2, 3})), ShapeError);
  EXPECT_THROW(linalg::qr(zeros({})), ShapeError);
  EXPECT_THROW(linalg::solve(zeros({2, 2}), zeros({3, 2})), ShapeError);
  EXPECT_THROW(linalg::solve(zeros({2, 2}), zeros({})), ShapeError);
  EXPECT_THROW(linalg::solve(zeros({3, 2, 2}), zeros({4, 2, 1})), ShapeError);
  EXPECT_THROW(linalg::svd(zeros({2, 2}, DType::f16)), TypeError);
  EXPECT_THROW(linalg::trace(zeros({2})), ShapeError);
  EXPECT_THROW(linalg::cross(zeros({2}), zeros({2})), ShapeError);
  EXPECT_THROW(linalg::norm(zeros({2, 2, 2}), 2), ValueError);
  EXPECT_THROW(linalg::norm(zeros({2, 2}), 3), ValueError);
  EXPECT_THROW(linalg::norm(zeros({2, 2}), 1, {0, 0}), ValueError);
  EXPECT_THROW(linalg::matrix_power(zeros({2, 3}), 2), ShapeError);
}

TEST(LinalgNumbers, NormsAreNumPys) {
  const Tensor b = tensor(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 10, 2, -1, 0}, {4, 3});
  const Tensor column = squeeze(slice(b, 1, {.stop = 1}), 1);
  // Expected values by numpy.linalg.norm(b, order) and numpy.linalg.norm(b[:, 0], order).
  EXPECT_LT(distance(linalg::norm(b), {17.578395831246947}), 1e-14);
  EXPECT_LT(distance(linalg::matrix_norm(b, linalg::MatrixNorm::nuclear), {20.2932258990963}),
            1e-13);
  const std::pair<double, double> matrix[] = {
      {1, 19},        {-1, 14},      {2, 17.416621279395486}, {-2, 0.5654116692010752},
      {INFINITY, 25}, {-INFINITY, 3}};
  for (const auto& [order, value] : matrix) {
    EXPECT_LT(distance(linalg::norm(b, order), {value}), 2e-14) << order;
  }
  const std::pair<double, double> vector[] = {{0, 4},
                                              {1, 14},
                                              {2, 8.366600265340756},
                                              {3, 7.4650223136344955},
                                              {0.5, 49.843104014173996},
                                              {INFINITY, 7},
                                              {-INFINITY, 1},
                                              {-2, 0.8661635148456444}};
  for (const auto& [order, value] : vector) {
    EXPECT_LT(distance(linalg::norm(column, order), {value}), 2e-14) << order;
  }
  EXPECT_LT(distance(linalg::norm(b, 1, {1, 0}), {25}), 1e-14);
  EXPECT_EQ(linalg::norm(b, 1, {1, 0}, true).shape(), (Shape{1, 1}));
  EXPECT_LT(
      distance(linalg::norm(b, 2, {0}), {8.366600265340756, 9.695359714832659, 12.041594578792296}),
      1e-14);
  EXPECT_EQ(linalg::norm(tensor<int32_t>({3, 4})).text(), "5. : f32[]");
  const Tensor c = tensor<std::complex<float>>({{3, 4}, {0, 12}});
  EXPECT_EQ(linalg::vector_norm(c).text(), "13. : f32[]");
  EXPECT_EQ(linalg::matrix_norm(ones({2, 3, 4}), linalg::MatrixNorm::infinity, true).shape(),
            (Shape{2, 1, 1}));
}

TEST(LinalgNumbers, RankTraceAndPowers) {
  const Tensor x = reshape(arange(9), {3, 3});
  EXPECT_EQ(linalg::matrix_rank(x).item<int64_t>(), 2);
  EXPECT_EQ(linalg::matrix_rank(zeros({2, 3, 2})).text(), "[0 0] : i64[2]");
  EXPECT_EQ(linalg::matrix_rank(zeros({0, 3})).text(), "0 : i64[]");
  EXPECT_EQ(linalg::trace(x).text(), "12 : i64[]");
  EXPECT_EQ(linalg::trace(x, 1).text(), "6 : i64[]");
  EXPECT_EQ(linalg::trace(x, -2).text(), "6 : i64[]");
  EXPECT_EQ(linalg::matrix_power(x, 3).text(),
            "[[ 180  234  288]\n [ 558  720  882]\n [ 936 1206 1476]] : i64[3, 3]");
  EXPECT_EQ(linalg::matrix_power(x, 0).text(), "[[1 0 0]\n [0 1 0]\n [0 0 1]] : i64[3, 3]");
  const Tensor a = noise(12, {4, 4}, DType::f64);
  const Tensor both = matmul(linalg::matrix_power(a, -3), linalg::matrix_power(a, 3));
  expect_close(both, identity(4, 4, DType::f64), 1e6);
  EXPECT_EQ(linalg::det(zeros({2, 0, 0})).text(), "[1. 1.] : f32[2]");
  const Tensor p = tensor(std::vector<double>{0, 1, 0, 0, 0, 1, 1, 0, 0}, {3, 3});
  EXPECT_EQ(linalg::det(p).item<double>(), 1);
}

TEST(LinalgProducts, CrossAndKron) {
  const Tensor a = tensor<int64_t>({1, 2, 3}), b = tensor<int64_t>({4, 5, 7});
  EXPECT_EQ(linalg::cross(a, b).text(), "[-1  5 -3] : i64[3]");
  const Tensor rows = broadcast_to(b, {2, 3});
  EXPECT_EQ(linalg::cross(a, rows).text(), "[[-1  5 -3]\n [-1  5 -3]] : i64[2, 3]");
  EXPECT_EQ(linalg::cross(expand_dims(a, 1), expand_dims(b, 1), 0).shape(), (Shape{3, 1}));
  EXPECT_EQ(linalg::kron(tensor<int64_t>({1, 10}), a).text(), "[ 1  2  3 10 20 30] : i64[6]");
  const Tensor x = reshape(arange(4), {2, 2});
  EXPECT_EQ(linalg::kron(x, tensor<int64_t>({1, -1})).text(),
            "[[ 0  0  1 -1]\n [ 2 -2  3 -3]] : i64[2, 4]");
}

TEST(LinalgProducts, OfManyInTheCheapestOrder) {
  const Tensor a = noise(20, {2, 30}, DType::f64), b = noise(21, {30, 3}, DType::f64);
  const Tensor c = noise(22, {3, 40}, DType::f64), d = noise(23, {40, 5}, DType::f64);
  const Tensor v = noise(24, {30}, DType::f64), w = noise(25, {40}, DType::f64);
  using Factors = std::vector<Tensor>;
  expect_close(linalg::multi_dot(Factors{a, b, c, d}), matmul(matmul(a, b), matmul(c, d)));
  expect_close(linalg::multi_dot(Factors{v, b, c}), matmul(matmul(v, b), c));
  expect_close(linalg::multi_dot(Factors{b, c, w}), matmul(b, matmul(c, w)));
  expect_close(linalg::multi_dot(Factors{v, b, c, w}), matmul(matmul(v, b), matmul(c, w)));
  expect_close(linalg::multi_dot(Factors{v, v}), matmul(v, v));
  const Tensor stack = noise(26, {4, 1, 3, 40}, DType::f64);
  expect_close(linalg::multi_dot(Factors{b, stack, d}), matmul(b, matmul(stack, d)));
  // (A B) (C D) takes fewer multiplications than any other order.
  Trace recording("f");
  linalg::multi_dot(Factors{recording.parameter(a.type(), "a"), b, c, d});
  const std::string text = recording.program(recording.finish(Factors{a})).text();
  EXPECT_NE(text.find("f64[2, 3]"), std::string::npos) << text;
  EXPECT_NE(text.find("f64[3, 5]"), std::string::npos) << text;
}

TEST(LinalgProducts, MatricesMadeOfNumbers) {
  const Tensor x = tensor<int64_t>({2, 0, -3});
  EXPECT_EQ(linalg::vander(x).text(), "[[ 1  2  4]\n [ 1  0  0]\n [ 1 -3  9]] : i64[3, 3]");
  EXPECT_EQ(linalg::vander(x, 2, false).text(), "[[ 2  1]\n [ 0  1]\n [-3  1]] : i64[3, 2]");
  EXPECT_EQ(linalg::vander(x, 0).shape(), (Shape{3, 0}));
  EXPECT_EQ(linalg::vander(zeros({2, 3}), 5).shape(), (Shape{2, 3, 5}));
  const Tensor row = tensor<int64_t>({9, 5, 6, 7});
  EXPECT_EQ(linalg::toeplitz(x, row).text(),
            "[[ 2  5  6  7]\n [ 0  2  5  6]\n [-3  0  2  5]] : i64[3, 4]");
  EXPECT_EQ(linalg::toeplitz(x).text(), "[[ 2  0 -3]\n [ 0  2  0]\n [-3  0  2]] : i64[3, 3]");
  const std::complex<double> i(0, 1);
  const Tensor t = linalg::toeplitz(tensor<std::complex<double>>({1, i}));
  EXPECT_EQ(distance(t, {1, -i, i, 1}), 0);
  EXPECT_EQ(linalg::toeplitz(zeros({5, 2}), zeros({5, 3})).shape(), (Shape{5, 2, 3}));
  EXPECT_EQ(linalg::toeplitz(zeros({0})).shape(), (Shape{0, 0}));
  const Tensor block = reshape(arange(4), {2, 2});
  const std::vector<Tensor> blocks = {block, tensor<int64_t>({7, 8, 9}), asarray(5)};
  EXPECT_EQ(linalg::block_diag(blocks).text(),
            "[[0 1 0 0 0 0]\n [2 3 0 0 0 0]\n [0 0 7 8 9 0]\n [0 0 0 0 0 5]] : i64[4, 6]");
  const std::vector<Tensor> stacks = {zeros({7, 2, 1}), zeros({7, 0, 3})};
  EXPECT_EQ(linalg::block_diag(stacks).shape(), (Shape{7, 2, 4}));
}

TEST(LinalgNumbers, ConditionsAndTensorEquations) {
  const Tensor a = tensor(std::vector<double>{4, 1, 2, 1, 3, 0, 2, 0, 5}, {3, 3});
  using linalg::MatrixNorm;
  // Expected values by numpy.linalg.cond.
  const std::pair<MatrixNorm, double> figures[] = {
      {MatrixNorm::greatest, 3.5953899208567384}, {MatrixNorm::least, 0.27813394986703194},
      {MatrixNorm::one, 4.232558139534884},       {MatrixNorm::infinity, 4.232558139534884},
      {MatrixNorm::frobenius, 4.873743961834321}, {MatrixNorm::nuclear, 11.720930232558143}};
  for (const auto& [norm, value] : figures) {
    EXPECT_LT(distance(linalg::cond(a, norm), {value}), 1e-12);
  }
  const Tensor stack = concat(std::vector<Tensor>{reshape(a, {1, 3, 3}), zeros({1, 3, 3})});
  EXPECT_EQ(linalg::cond(stack).shape(), (Shape{2}));
  EXPECT_TRUE(isinf(slice(linalg::cond(stack), 0, {.start = 1})).item<bool>());
  const Tensor b = noise(27, {2, 3, 6}, DType::f64), c = noise(28, {2, 3}, DType::f64);
  expect_close(tensordot(b, linalg::tensorsolve(b, c), 1), c, 1000);
  const Tensor d = noise(29, {4, 6, 8, 3}, DType::f64), e = noise(30, {4, 6}, DType::f64);
  const Tensor x = linalg::tensorsolve(d, e);
  EXPECT_EQ(x.shape(), (Shape{8, 3}));
  expect_close(tensordot(d, x, 2), e, 5000);
  const Tensor y = linalg::tensorsolve(permute_dims(d, {2, 0, 1, 3}), e, {0, 3});
  expect_close(y, x, 5000);
  expect_close(tensordot(linalg::tensorinv(d), e, 2), x, 5000);
  EXPECT_EQ(linalg::tensorinv(b).shape(), (Shape{6, 2, 3}));
}

TEST(LinalgTrace, TheProgramGivesTheSame) {
  const auto f = [](const Tensor& a, const Tensor& b) {
    const Tensor s = matmul(a, matrix_transpose(a));
    return std::vector<Tensor>{
        linalg::solve(a, b),
        linalg::cholesky(s),
        linalg::slogdet(a).sign,
        linalg::eigh(s).values,
        linalg::svd(b).s,
        linalg::qr(b).r,
        linalg::pinv(b, 1e-9),
        linalg::norm(b),
        linalg::expm(a),
        linalg::schur(a).t,
        linalg::det(a),
        linalg::cond(a),
        linalg::multi_dot(std::vector<Tensor>{a, s, b}),
        linalg::lu_solve(linalg::lu_factor(a).lu, linalg::lu_factor(a).order, b),
        linalg::vander(a),
        linalg::toeplitz(b),
        linalg::block_diag(std::vector<Tensor>{a, b})};
  };
  Trace recording("f");
  const Dim n = Dim::symbol("n");
  const Tensor a = recording.parameter(ir::Type::array(DType::f64, {2, n, n}), "a");
  const Tensor b = recording.parameter(ir::Type::array(DType::f64, {2, n, 3}), "b");
  const RecordedFunction recorded = recording.finish(f(a, b));
  const ir::Program program = recording.program(recorded);
  EXPECT_EQ(ir::Program::parse(program.text()).text(), program.text());
  for (const int64_t size : {3, 5}) {
    const Tensor arguments[] = {noise(1, {2, size, size}, DType::f64),
                                noise(2, {2, size, 3}, DType::f64)};
    const auto results = evaluate(program, arguments);
    const auto expected = f(arguments[0], arguments[1]);
    for (size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(results[i].text(), expected[i].text()) << i;
    }
  }
}

TEST(LinalgStacks, GiveTheSameOnAnyNumberOfThreads) {
  const Tensor a = noise(4, {48, 96, 96}, DType::f64), b = noise(5, {48, 96, 8}, DType::f64);
  const auto f = [&] {
    return std::vector<Tensor>{linalg::solve(a, b), linalg::qr(a).r, linalg::eigvalsh(a),
                               linalg::svdvals(slice(a, 2, {.stop = 40}))};
  };
  const auto alone = [&] {
    const Threads one(1);
    return f();
  }();
  const Threads team(4);
  for (int repeat = 0; repeat < 3; ++repeat) {
    const auto together = f();
    for (size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(distance(alone[i], together[i]), 0) << i;
  }
}

TEST(LinalgLayouts, StridedOperandsAreRead) {
  const Tensor a = noise(3, {6, 8}, DType::f32);
  const Tensor odd = slice(flip(a, 0), 1, {.start = 1, .step = 2});
  const Tensor dense = Tensor(odd.array().copy());
  EXPECT_EQ(linalg::qr(odd).r.text(), linalg::qr(dense).r.text());
  EXPECT_EQ(linalg::svdvals(matrix_transpose(odd)).text(),
            linalg::svdvals(Tensor(matrix_transpose(odd).array().copy())).text());
}

}  // namespace
}  // namespace plait
