// Rules of factorisations compared with finite differences.
#include <functional>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/linalg/linalg_parts.h"
#include "plait/ops/inside/linalg/linalg_primitives.h"
#include "plait/ops/linalg/linalg.h"
#include "plait/ops/products/linear.h"
#include "plait/tensor/apply.h"

#include "tests/ops/numeric_check.h"

namespace plait {
namespace {

constexpr DType kWideDTypes[] = {DType::f64, DType::c128};
const LinalgPrimitives& ops() { return linalg_primitives(); }

template <class Attributes>
UsedPrimitive with(const ir::Primitive& primitive, Attributes attributes) {
  return {&primitive, ir::Attributes::of(attributes)};
}
// With default attributes.
UsedPrimitive plain(const ir::Primitive& primitive) {
  return {&primitive, ir::Attributes::defaults(primitive.attributes)};
}

TEST(LinalgRules, TangentsOfWhatIsDetermined) {
  for (const DType dtype : kWideDTypes) {
    check_tangents(plain(ops().cholesky), {positive_definite(1, {2, 4, 4}, dtype)});
    for (const Shape& shape : {Shape{2, 4, 4}, Shape{5, 3}, Shape{3, 5}}) {
      check_tangents(plain(ops().lu), {noise(2, shape, dtype)});
      check_tangents(plain(ops().qr), {noise(3, shape, dtype)});
      check_tangents(with(ops().pinv, PinvAttributes{1e-12}), {noise(4, shape, dtype)});
    }
    check_tangents(with(ops().qr, QrAttributes{.complete = true}), {noise(3, {3, 5}, dtype)});
    const Tensor a = noise(5, {2, 4, 4}, dtype) + identity(4, 4, dtype) * 3;
    const Tensor b = noise(6, {2, 4, 3}, dtype);
    check_tangents(plain(ops().solve), {a, b});
    for (const bool lower : {false, true}) {
      for (const bool unit : {false, true}) {
        check_tangents(with(ops().triangular_solve, TriangularAttributes{lower, unit}), {a, b});
      }
    }
    // With a tangent of one operand only.
    const Tensor ta = noise(7, a.shape(), dtype), tb = noise(8, b.shape(), dtype);
    for (const auto* primitive : {&ops().solve, &ops().triangular_solve}) {
      const Tensor both = tangents_by_rule(plain(*primitive), {a, b}, {ta, tb})[0];
      const Tensor first = tangents_by_rule(plain(*primitive), {a, b}, {ta, Tensor()})[0];
      const Tensor second = tangents_by_rule(plain(*primitive), {a, b}, {Tensor(), tb})[0];
      EXPECT_LT(distance(first + second, both), 1e-13);
    }
  }
}

TEST(LinalgRules, PinvOfLowerRankWhileItStays) {
  for (const DType dtype : kWideDTypes) {
    const Tensor x = noise(9, {5, 2}, dtype), y = noise(10, {2, 4}, dtype);
    const Tensor tx = noise(11, {5, 2}, dtype), ty = noise(12, {2, 4}, dtype);
    const Tensor a = matmul(x, y), t = matmul(tx, y) + matmul(x, ty);
    const auto rule = tangents_by_rule(with(ops().pinv, PinvAttributes{1e-9}), {a}, {t});
    const auto difference = tangents_by_difference(
        [](const std::vector<Tensor>& xy) {
          return std::vector<Tensor>{linalg::pinv(matmul(xy[0], xy[1]), 1e-9)};
        },
        {x, y}, {tx, ty});
    EXPECT_LT(distance(rule[0], difference[0]), 1e-6);
  }
}

// Eigenvectors are determined up to a factor; V G Vᴴ is unique.
TEST(LinalgRules, TangentsOfEigenvectors) {
  for (const DType dtype : kWideDTypes) {
    const Tensor x = noise(13, {2, 5, 5}, dtype), a = x + adjoint(x);
    const Tensor t = noise(14, a.shape(), dtype), g = astype(arange(1, 6), DType::f64);
    const auto rule = tangents_by_rule(plain(ops().eigh), {a}, {t});
    const auto results = apply_all(ops().eigh, {&a, 1});
    const auto f = [&](const std::vector<Tensor>& y) {
      const auto parts = apply_all(ops().eigh, y);
      return std::vector<Tensor>{parts[0], matmul(scale_columns(parts[1], g), adjoint(parts[1]))};
    };
    const auto difference = tangents_by_difference(f, {a}, {t});
    const Tensor half = matmul(scale_columns(rule[1], g), adjoint(results[1]));
    EXPECT_LT(distance(rule[0], difference[0]), 1e-7);
    EXPECT_LT(distance(half + adjoint(half), difference[1]), 1e-6);
  }
}

TEST(LinalgRules, TangentsOfSingularVectors) {
  for (const DType dtype : kWideDTypes) {
    for (const Shape& shape : {Shape{4, 4}, Shape{2, 6, 3}, Shape{3, 5}}) {
      const Tensor a = noise(15, shape, dtype), t = noise(16, shape, dtype);
      const auto rule = tangents_by_rule(plain(ops().svd), {a}, {t});
      const auto results = apply_all(ops().svd, {&a, 1});
      const Tensor g = astype(arange(results[1].shape(-1)) + 1, DType::f64);
      const auto f = [&](const std::vector<Tensor>& y) {
        const auto parts = apply_all(ops().svd, y);
        return std::vector<Tensor>{parts[1], matmul(scale_columns(parts[0], g), parts[2])};
      };
      const auto difference = tangents_by_difference(f, {a}, {t});
      const Tensor whole = matmul(scale_columns(rule[0], g), results[2]) +
                           matmul(scale_columns(results[0], g), rule[2]);
      EXPECT_LT(distance(rule[1], difference[0]), 1e-7);
      EXPECT_LT(distance(whole, difference[1]), 1e-6) << shape.text();
    }
  }
}

TEST(LinalgRules, TangentsOfEig) {
  const Tensor a = noise(17, {4, 4}, DType::f64), t = noise(18, {4, 4}, DType::f64);
  const auto rule = tangents_by_rule(plain(ops().eig), {a}, {t});
  const auto results = apply_all(ops().eig, {&a, 1});
  // |vᵢ|² and the eigenvalues are unique.
  const auto size = [](const Tensor& v) { return square(absolute(v)); };
  const auto f = [&](const std::vector<Tensor>& y) {
    const auto parts = apply_all(ops().eig, y);
    return std::vector<Tensor>{parts[0], size(parts[1])};
  };
  const auto difference = tangents_by_difference(f, {a}, {t});
  EXPECT_LT(distance(rule[0], difference[0]), 1e-7);
  EXPECT_LT(distance(real(conj(results[1]) * rule[1]) * 2., difference[1]), 1e-7);
}

TEST(LinalgRules, TangentsOfExpm) {
  for (const DType dtype : kWideDTypes) {
    for (const double size : {1e-3, 0.05, 0.2, 0.5, 2., 4.}) {
      const Tensor a = noise(24, {2, 3, 3}, dtype) * size, e = noise(25, {2, 3, 3}, dtype);
      check_tangents(plain(ops().expm), {a});
      check_tangents(plain(ops().expm_derivative), {a, e});
      check_transpose(plain(ops().expm_derivative), {a, e}, 1);
      check_batching(plain(ops().expm_derivative), {a, e}, {true, true});
      check_batching(plain(ops().expm), {a}, {true});
      const Tensor ta = noise(26, a.shape(), dtype), te = noise(27, a.shape(), dtype);
      const auto rule = [&](const Tensor& first, const Tensor& second) {
        return tangents_by_rule(plain(ops().expm_derivative), {a, e}, {first, second})[0];
      };
      EXPECT_LT(distance(rule(ta, Tensor()) + rule(Tensor(), te), rule(ta, te)), 1e-9);
    }
  }
}

TEST(LinalgRules, TangentsOfDeterminantsOfAnyRank) {
  for (const DType dtype : kWideDTypes) {
    for (const int64_t rank : {4, 3, 2, 1, 0}) {
      const Tensor a = matmul(noise(28, {2, 4, rank}, dtype), noise(29, {2, rank, 4}, dtype));
      for (const auto* primitive : {&ops().determinant, &ops().adjugate}) {
        check_tangents(plain(*primitive), {a});
        check_batching(plain(*primitive), {a}, {true});
      }
    }
  }
}

// The values have first derivatives, the vectors have none in directions that mix them.
TEST(LinalgRules, VectorsOfRepeatedValuesHaveNoDerivative) {
  for (const DType dtype : kWideDTypes) {
    const Tensor one = identity(3, 3, dtype), t = noise(19, {3, 3}, dtype);
    for (const auto& [primitive, values] : {std::pair{&ops().eigh, 0}, {&ops().svd, 1}}) {
      const auto mixed = tangents_by_rule(plain(*primitive), {one}, {t});
      const auto apart = tangents_by_rule(plain(*primitive), {one}, {diagonal_part(t)});
      for (size_t i = 0; i < mixed.size(); ++i) {
        const bool is_vectors = i != static_cast<size_t>(values);
        EXPECT_EQ(any(isnan(mixed[i])).item<bool>(), is_vectors) << primitive->name << i;
        EXPECT_TRUE(all(isfinite(apart[i])).item<bool>()) << primitive->name << i;
      }
    }
  }
}

// So do those of singular values that are 0.
TEST(LinalgRules, VectorsOfZerosHaveNoDerivative) {
  const Tensor t = noise(19, {3, 2}, DType::f64);
  for (const double second : {0., 1.}) {
    const Tensor a = scale_columns(identity(3, 2, DType::f64), 2. - arange(2) * (2. - second));
    const auto tangents = tangents_by_rule(plain(ops().svd), {a}, {t});
    EXPECT_EQ(any(isnan(tangents[0])).item<bool>(), second == 0);
    EXPECT_FALSE(any(isnan(tangents[1])).item<bool>());
  }
}

TEST(LinalgRules, QuotientsOfZeroAreZero) {
  for (const DType dtype : kWideDTypes) {
    const Tensor x = noise(30, {2, 3, 3}, dtype), d = noise(31, {2, 3, 3}, dtype) + 2.;
    check_tangents(plain(ops().quotient_or_zero), {x, d});
    check_transpose(plain(ops().quotient_or_zero), {x, d}, 0);
    check_batching(plain(ops().quotient_or_zero), {x, d}, {true, true});
    const auto row = [&](const std::vector<double>& numbers) {
      return astype(Tensor(Array::of(std::span(numbers), {1, 4})), dtype);
    };
    const Tensor found = apply(ops().quotient_or_zero, {row({0, 0, 1, 1}), row({0, 2, 0, 2})});
    EXPECT_TRUE(all(isnan(found) == (row({0, 0, 1, 0}) != 0)).item<bool>());
    EXPECT_TRUE(all((found == 0) == (row({1, 1, 0, 0}) != 0)).item<bool>());
  }
}

TEST(LinalgRules, OpenColumnsHaveNoDerivative) {
  const Tensor a = noise(20, {4, 2}, DType::f64);
  const UsedPrimitive complete = with(ops().qr, QrAttributes{.complete = true});
  const UsedPrimitive full = with(ops().svd, SvdAttributes{.full = true});
  EXPECT_THROW(tangents_by_rule(complete, {a}, {a}), ValueError);
  EXPECT_THROW(tangents_by_rule(full, {a}, {a}), ValueError);
}

TEST(LinalgRules, TransposesAndBatches) {
  for (const DType dtype : kWideDTypes) {
    const Tensor a = noise(21, {3, 4, 4}, dtype) + identity(4, 4, dtype) * 4;
    const Tensor b = noise(22, {3, 4, 2}, dtype);
    for (const bool lower : {false, true}) {
      const auto solve = with(ops().triangular_solve, TriangularAttributes{.lower = lower});
      check_transpose(solve, {a, b}, 1);
      check_batching(solve, {a, b}, {true, true});
    }
    check_transpose(plain(ops().solve), {a, b}, 1);
    check_batching(plain(ops().solve), {a, b}, {true, true});
    const Tensor single = reshape(slice(b, 0, {.stop = 1}), {4, 2});
    check_batching(plain(ops().solve), {a, single}, {true, false});
    for (const auto* primitive : {&ops().lu, &ops().qr, &ops().svd}) {
      check_batching(plain(*primitive), {b}, {true});
    }
    for (const auto* primitive : {&ops().cholesky, &ops().eigh}) {
      check_batching(plain(*primitive), {positive_definite(23, {3, 4, 4}, dtype)}, {true});
    }
    check_batching(with(ops().pinv, PinvAttributes{0}), {b}, {true});
    check_batching(plain(ops().schur), {a}, {true});
  }
}

}  // namespace
}  // namespace plait
