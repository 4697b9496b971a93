// The rules of the factorisations against differences of the factorisations.
#include <functional>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/create.h"
#include "plait/ops/elementwise.h"
#include "plait/ops/linalg.h"
#include "plait/ops/linalg_parts.h"
#include "plait/ops/linalg_primitives.h"
#include "plait/ops/linear.h"
#include "plait/ops/shape.h"
#include "plait/tensor/apply.h"

#include "tests/support/numeric_check.h"

namespace plait {
namespace {

constexpr DType kDTypes[] = {DType::f64, DType::c128};
const LinalgPrimitives& ops() { return linalg_primitives(); }

struct Case {
  const ir::Primitive& primitive;
  std::vector<Tensor> operands;
  ir::Attributes attributes = {};
};

std::vector<Tensor> tangents_for(const Case& each) {
  std::vector<Tensor> tangents;
  for (const Tensor& operand : each.operands) {
    tangents.push_back(noise(50 + tangents.size(), operand.shape(), operand.dtype()));
  }
  return tangents;
}

void expect_tangents(const Case& each, const std::vector<Tensor>& tangents) {
  const auto rule = tangents_by_rule(each.primitive, each.attributes, each.operands, tangents);
  const auto f = [&](std::span<const Tensor> x) {
    return apply_all(each.primitive, x, each.attributes);
  };
  const auto difference = tangents_by_difference(f, each.operands, tangents, 1e-6);
  for (size_t i = 0; i < rule.size(); ++i) {
    if (!rule[i]) continue;  // an integer
    EXPECT_EQ(rule[i].type().text(), difference[i].type().text()) << each.primitive.name;
    EXPECT_LT(distance(rule[i], difference[i]), 2e-7)
        << each.primitive.name << ' ' << i << ' ' << each.operands[0].type().text();
  }
}
void expect_tangents(const Case& each) { expect_tangents(each, tangents_for(each)); }

Tensor positive(uint64_t seed, const Shape& shape, DType dtype) {
  const Tensor x = noise(seed, shape, dtype);
  return matmul(x, adjoint(x)) + identity(shape.at(-1), shape.at(-1), dtype);
}

TEST(LinalgRules, TangentsOfWhatIsDetermined) {
  for (const DType dtype : kDTypes) {
    expect_tangents({ops().cholesky, {positive(1, {2, 4, 4}, dtype)}});
    for (const Shape& shape : {Shape{2, 4, 4}, Shape{5, 3}, Shape{3, 5}}) {
      expect_tangents({ops().lu, {noise(2, shape, dtype)}});
      expect_tangents({ops().qr, {noise(3, shape, dtype)}});
      expect_tangents(
          {ops().pinv, {noise(4, shape, dtype)}, ir::Attributes::of(PinvAttributes{1e-12})});
    }
    expect_tangents(
        {ops().qr, {noise(3, {3, 5}, dtype)}, ir::Attributes::of(QrAttributes{.complete = true})});
    const Case solve{ops().solve, {noise(5, {2, 4, 4}, dtype), noise(6, {2, 4, 3}, dtype)}};
    expect_tangents(solve);
    const auto both = tangents_for(solve);
    expect_tangents(solve, {both[0], Tensor()});
    expect_tangents(solve, {Tensor(), both[1]});
    for (const bool lower : {false, true}) {
      for (const bool unit : {false, true}) {
        const Tensor a = noise(7, {4, 4}, dtype) + identity(4, 4, dtype) * 3;
        expect_tangents({ops().triangular_solve,
                         {a, noise(8, {4, 2}, dtype)},
                         ir::Attributes::of(TriangularAttributes{lower, unit})});
      }
    }
  }
}

TEST(LinalgRules, PinvOfLowerRankWhileItStays) {
  for (const DType dtype : kDTypes) {
    const Tensor x = noise(9, {5, 2}, dtype), y = noise(10, {2, 4}, dtype);
    const Tensor tx = noise(11, {5, 2}, dtype), ty = noise(12, {2, 4}, dtype);
    const Tensor a = matmul(x, y), t = matmul(tx, y) + matmul(x, ty);
    const ir::Attributes attributes = ir::Attributes::of(PinvAttributes{1e-9});
    const auto rule = tangents_by_rule(ops().pinv, attributes, {&a, 1}, {&t, 1});
    const Tensor factors[] = {x, y}, moved[] = {tx, ty};
    const auto difference = tangents_by_difference(
        [&](std::span<const Tensor> xy) {
          return std::vector<Tensor>{linalg::pinv(matmul(xy[0], xy[1]), 1e-9)};
        },
        factors, moved, 1e-6);
    EXPECT_LT(distance(rule[0], difference[0]), 1e-6);
  }
}

// Vectors are determined up to a factor each; V G Vᴴ is determined.
TEST(LinalgRules, TangentsOfEigenvectors) {
  for (const DType dtype : kDTypes) {
    const Tensor x = noise(13, {2, 5, 5}, dtype), a = x + adjoint(x);
    const Tensor t = noise(14, a.shape(), dtype), g = astype(arange(1, 6), DType::f64);
    const auto rule = tangents_by_rule(ops().eigh, {}, {&a, 1}, {&t, 1});
    const auto results = apply_all(ops().eigh, {&a, 1});
    const auto f = [&](std::span<const Tensor> y) {
      const auto parts = apply_all(ops().eigh, y);
      return std::vector<Tensor>{parts[0], matmul(scale_columns(parts[1], g), adjoint(parts[1]))};
    };
    const auto difference = tangents_by_difference(f, {&a, 1}, {&t, 1}, 1e-6);
    const Tensor half = matmul(scale_columns(rule[1], g), adjoint(results[1]));
    EXPECT_LT(distance(rule[0], difference[0]), 1e-7);
    EXPECT_LT(distance(half + adjoint(half), difference[1]), 1e-6);
  }
}

TEST(LinalgRules, TangentsOfSingularVectors) {
  for (const DType dtype : kDTypes) {
    for (const Shape& shape : {Shape{4, 4}, Shape{2, 6, 3}, Shape{3, 5}}) {
      const Tensor a = noise(15, shape, dtype), t = noise(16, shape, dtype);
      const auto rule = tangents_by_rule(ops().svd, {}, {&a, 1}, {&t, 1});
      const auto results = apply_all(ops().svd, {&a, 1});
      const Tensor g = astype(arange(results[1].shape(-1)) + 1, DType::f64);
      const auto f = [&](std::span<const Tensor> y) {
        const auto parts = apply_all(ops().svd, y);
        return std::vector<Tensor>{parts[1], matmul(scale_columns(parts[0], g), parts[2])};
      };
      const auto difference = tangents_by_difference(f, {&a, 1}, {&t, 1}, 1e-6);
      const Tensor whole = matmul(scale_columns(rule[0], g), results[2]) +
                           matmul(scale_columns(results[0], g), rule[2]);
      EXPECT_LT(distance(rule[1], difference[0]), 1e-7);
      EXPECT_LT(distance(whole, difference[1]), 1e-6) << shape.text();
    }
  }
}

TEST(LinalgRules, TangentsOfEig) {
  const Tensor a = noise(17, {4, 4}, DType::f64), t = noise(18, {4, 4}, DType::f64);
  try {
    linalg::eig(a);
  } catch (const DeviceError&) {
    GTEST_SKIP() << "this build has no LAPACK";
  }
  const auto rule = tangents_by_rule(ops().eig, {}, {&a, 1}, {&t, 1});
  const auto results = apply_all(ops().eig, {&a, 1});
  // |vᵢ|² is determined, and so are the values.
  const auto size = [](const Tensor& v) { return square(absolute(v)); };
  const auto f = [&](std::span<const Tensor> y) {
    const auto parts = apply_all(ops().eig, y);
    return std::vector<Tensor>{parts[0], size(parts[1])};
  };
  const auto difference = tangents_by_difference(f, {&a, 1}, {&t, 1}, 1e-6);
  EXPECT_LT(distance(rule[0], difference[0]), 1e-7);
  EXPECT_LT(distance(real_part(conjugate(results[1]) * rule[1]) * 2., difference[1]), 1e-7);
}

TEST(LinalgRules, RepeatedValuesGiveNoInfinity) {
  const Tensor one = identity(3, 3, DType::f64), t = noise(19, {3, 3}, DType::f64);
  for (const auto* primitive : {&ops().eigh, &ops().svd}) {
    for (const Tensor& each : tangents_by_rule(*primitive, {}, {&one, 1}, {&t, 1})) {
      EXPECT_TRUE(all(isfinite(each)).item<bool>()) << primitive->name;
    }
  }
}

TEST(LinalgRules, OpenColumnsHaveNoDerivative) {
  const Tensor a = noise(20, {4, 2}, DType::f64);
  EXPECT_THROW(tangents_by_rule(ops().qr, ir::Attributes::of(QrAttributes{.complete = true}),
                                {&a, 1}, {&a, 1}),
               ValueError);
  EXPECT_THROW(tangents_by_rule(ops().svd, ir::Attributes::of(SvdAttributes{.full = true}), {&a, 1},
                                {&a, 1}),
               ValueError);
}

TEST(LinalgRules, TransposesAndBatches) {
  for (const DType dtype : kDTypes) {
    const Tensor a = noise(21, {3, 4, 4}, dtype) + identity(4, 4, dtype) * 4;
    const Tensor b = noise(22, {3, 4, 2}, dtype);
    const Tensor operands[] = {a, b};
    for (const bool lower : {false, true}) {
      const auto attributes = ir::Attributes::of(TriangularAttributes{.lower = lower});
      EXPECT_LT(transpose_defect(ops().triangular_solve, attributes, operands, 1), 1e-12);
      EXPECT_LT(batching_defect(ops().triangular_solve, attributes, operands, {true, true}), 1e-13);
    }
    EXPECT_LT(transpose_defect(ops().solve, {}, operands, 1), 1e-12);
    EXPECT_LT(batching_defect(ops().solve, {}, operands, {true, true}), 1e-12);
    const Tensor single = reshape(slice(b, 0, {.stop = 1}), {4, 2});
    const Tensor mixed[] = {a, single};
    EXPECT_LT(batching_defect(ops().solve, {}, mixed, {true, false}), 1e-12);
    for (const auto* primitive : {&ops().lu, &ops().qr, &ops().svd}) {
      EXPECT_LT(batching_defect(*primitive, {}, {&b, 1}, {true}), 1e-13) << primitive->name;
    }
    const Tensor p = positive(23, {3, 4, 4}, dtype);
    for (const auto* primitive : {&ops().cholesky, &ops().eigh}) {
      EXPECT_LT(batching_defect(*primitive, {}, {&p, 1}, {true}), 1e-13) << primitive->name;
    }
    EXPECT_LT(batching_defect(ops().pinv, ir::Attributes::of(PinvAttributes{0}), {&b, 1}, {true}),
              1e-13);
  }
}

}  // namespace
}  // namespace plait
