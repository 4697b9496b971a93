#include "plait/ops/linalg.h"

#include <cmath>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/cpu/lapack.h"
#include "plait/ops/complex.h"
#include "plait/ops/create.h"
#include "plait/ops/elementwise.h"
#include "plait/ops/linalg_parts.h"
#include "plait/ops/linalg_routines.h"
#include "plait/ops/linear.h"
#include "plait/ops/matrix_parts.h"
#include "plait/ops/shape.h"
#include "plait/tensor/machine.h"
#include "plait/tensor/trace_function.h"

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
// Whether the columns are at right angles and of length 1.
void expect_unitary(const Tensor& q) {
  const Tensor square = matmul(adjoint(q), q);
  expect_close(square, broadcast_to(identity(q.shape(-1), q.shape(-1), q.dtype()), square.shape()));
}

// By the library of the build, and by the loops that serve without one.
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
      // LAPACK compares complex numbers by |re| + |im|.
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
  // Of lower rank.
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
      // Nothing is read of the other half.
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

TEST_P(Linalg, GivesNumPysFigures) {
  // numpy.linalg of the same matrices.
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
            "eigh of f32[2, 2, 2]: matrix [1] of the batch holds NaN or infinity");
  EXPECT_EQ(message_of<ValueError>([&] { svd(nan); }),
            "svd of f32[2, 2, 2]: matrix [1] of the batch holds NaN or infinity");
  EXPECT_EQ(message_of<ValueError>([&] { qr(nan); }),
            "qr of f32[2, 2, 2]: matrix [1] of the batch holds NaN or infinity");
  EXPECT_EQ(message_of<ValueError>([&] { lu(nan); }),
            "lu of f32[2, 2, 2]: matrix [1] of the batch holds NaN or infinity");
  EXPECT_EQ(message_of<ValueError>([&] { pinv(nan); }),
            "pinv of f32[2, 2, 2]: matrix [1] of the batch holds NaN or infinity");
  EXPECT_EQ(message_of<ValueError>([&] { linalg::cholesky(nan * INFINITY); }),
            "cholesky of f32[2, 2, 2]: matrix [0] of the batch holds NaN or infinity");
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

TEST(LinalgEig, OrIsLeftOut) {
  const Tensor a = tensor(std::vector<double>{0, 1, 0, 0, 0, 1, 1, 2, -1}, {3, 3});
  Tensor values;
  try {
    values = linalg::eigvals(a);
  } catch (const DeviceError&) {
    GTEST_SKIP() << "this build has no LAPACK";
  }
  // numpy.linalg.eigvals, sorted.
  auto found = numbers_of(values);
  std::ranges::sort(found, {}, [](const auto& x) { return x.real(); });
  const double expected[] = {-1.8019377358048383, -0.4450418679126288, 1.2469796037174674};
  for (size_t i = 0; i < 3; ++i) EXPECT_LT(std::abs(found[i] - expected[i]), 1e-14);
  for (const DType dtype : kInexactDTypes) {
    const Tensor x = noise(11, {2, 5, 5}, dtype);
    const auto [w, v] = linalg::eig(x);
    expect_close(matmul(astype(x, v.dtype()), v), scale_columns(v, w), 1000);
    expect_close(linalg::vector_norm(v, 2, -2), ones({2, 5}, real_dtype(dtype)));
  }
}

TEST(LinalgNumbers, NormsAreNumPys) {
  const Tensor b = tensor(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 10, 2, -1, 0}, {4, 3});
  const Tensor column = squeeze(slice(b, 1, {.stop = 1}), 1);
  // numpy.linalg.norm(b, order), numpy.linalg.norm(b[:, 0], order).
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

TEST(LinalgTrace, TheProgramGivesTheSame) {
  const auto f = [](const Tensor& a, const Tensor& b) {
    const Tensor s = matmul(a, matrix_transpose(a));
    return std::vector<Tensor>{linalg::solve(a, b),    linalg::cholesky(s), linalg::slogdet(a).sign,
                               linalg::eigh(s).values, linalg::svd(b).s,    linalg::qr(b).r,
                               linalg::pinv(b, 1e-9),  linalg::norm(b)};
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
