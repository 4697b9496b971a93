// Initial weights: exact structure, statistics, and errors.
#include "plait/nn/initialization.h"

#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/plait.h"

#include "tests/support/errors.h"

namespace plait::initialization_tests {
namespace {

const Tensor kKey = random::key(3);

double difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  return max(absolute(a - b)).item<double>();
}
double mean_of(const Tensor& x) { return mean(astype(x, DType::f64)).item<double>(); }
double deviation(const Tensor& x) {
  return std::sqrt(mean_of(square(astype(x, DType::f64) - mean_of(x))));
}
double least(const Tensor& x) { return min(x).item<double>(); }
double greatest(const Tensor& x) { return max(x).item<double>(); }

TEST(Initialization, Gains) {
  using enum nn::Nonlinearity;
  EXPECT_EQ(nn::calculate_gain(linear), 1);
  EXPECT_EQ(nn::calculate_gain(sigmoid), 1);
  EXPECT_EQ(nn::calculate_gain(nn::Nonlinearity::tanh), 5. / 3);
  EXPECT_EQ(nn::calculate_gain(nn::Nonlinearity::relu), std::sqrt(2.));
  EXPECT_EQ(nn::calculate_gain(leaky_relu), std::sqrt(2 / 1.0001));
  EXPECT_EQ(nn::calculate_gain(leaky_relu, 2), std::sqrt(0.4));
  EXPECT_EQ(nn::calculate_gain(nn::Nonlinearity::selu), 0.75);
}

TEST(Initialization, UniformAndNormal) {
  const Shape shape{200, 300};
  const Tensor flat = nn::uniform(kKey, shape, 2., 5., DType::f64);
  EXPECT_EQ(flat.dtype(), DType::f64);
  EXPECT_GE(least(flat), 2);
  EXPECT_LT(greatest(flat), 5);
  EXPECT_NEAR(mean_of(flat), 3.5, 0.02);
  EXPECT_NEAR(deviation(flat), 3 / std::sqrt(12.), 0.01);
  EXPECT_EQ(difference(nn::uniform(kKey, shape, 0.25), nn::uniform(kKey, shape, -0.25, 0.25)), 0);
  EXPECT_EQ(difference(nn::uniform(kKey, {3}, 2., 2.), full({3}, 2.)), 0);

  const Tensor bell = nn::normal(kKey, shape, -1, 0.5);
  EXPECT_NEAR(mean_of(bell), -1, 0.01);
  EXPECT_NEAR(deviation(bell), 0.5, 0.005);
  EXPECT_EQ(difference(nn::normal(kKey, {3}, 4, 0), full({3}, 4.)), 0);
}

TEST(Initialization, TruncatedNormal) {
  const Tensor x = nn::trunc_normal(kKey, {200, 300}, {.mean = 1, .std = 2, .a = -1, .b = 2});
  EXPECT_GE(least(x), -1);
  EXPECT_LE(greatest(x), 2);
  EXPECT_LT(least(x), -0.99);
  EXPECT_GT(greatest(x), 1.99);
  // The mean of the density on [−1, ½] of the standard normal, times 2, plus 1.
  const auto density = [](double at) { return std::exp(-at * at / 2) / std::sqrt(2 * M_PI); };
  const auto below = [](double at) { return std::erfc(-at / std::sqrt(2.)) / 2; };
  const double unit = (density(-1) - density(0.5)) / (below(0.5) - below(-1));
  EXPECT_NEAR(mean_of(x), 1 + 2 * unit, 0.01);
  EXPECT_NEAR(deviation(nn::trunc_normal(kKey, {200, 300}, {.std = 0.02})), 0.02, 2e-4);
}

TEST(Initialization, KaimingForEachActivationAndEitherFan) {
  const Shape shape{300, 10, 5, 2};  // fan-in 100, fan-out 3000
  using Initialiser = Tensor (*)(const Tensor&, const Shape&, const nn::KaimingOptions&);
  for (const Initialiser initialised :
       {Initialiser(nn::kaiming_uniform), Initialiser(nn::kaiming_normal)}) {
    const auto expect = [&](const nn::KaimingOptions& options, double wanted) {
      EXPECT_NEAR(deviation(initialised(kKey, shape, options)), wanted, 0.02 * wanted);
    };
    expect({}, std::sqrt(2. / 100));
    expect({.mode = nn::Fan::out}, std::sqrt(2. / 3000));
    expect({.a = 2}, std::sqrt(0.4 / 100));
    expect({.nonlinearity = nn::Nonlinearity::linear}, 0.1);
    expect({.mode = nn::Fan::out, .nonlinearity = nn::Nonlinearity::tanh},
           5. / 3 / std::sqrt(3000.));
  }
  const Tensor x = nn::kaiming_uniform(kKey, shape, {.nonlinearity = nn::Nonlinearity::linear});
  EXPECT_LE(greatest(x), std::sqrt(3.) / 10);
  EXPECT_GT(greatest(x), 0.999 * std::sqrt(3.) / 10);
  EXPECT_EQ(
      difference(nn::kaiming_normal(kKey, shape, 0.5), nn::kaiming_normal(kKey, shape, {.a = 0.5})),
      0);
}

TEST(Initialization, Orthogonal) {
  for (const Shape& shape : {Shape{5, 5}, Shape{3, 7}, Shape{7, 3}, Shape{4, 2, 3, 2}}) {
    const Tensor weight = nn::orthogonal(kKey, shape, 2, DType::f64);
    EXPECT_EQ(weight.shape(), shape);
    const Tensor matrix = reshape(weight, {shape[0], -1});
    const bool is_wide = matrix.shape(0).number() < matrix.shape(1).number();
    const Tensor product = is_wide ? matmul(matrix, matrix_transpose(matrix))
                                   : matmul(matrix_transpose(matrix), matrix);
    const Tensor unit = plait::eye(product.shape(0).number(), -1, DType::f64);
    EXPECT_LT(difference(product, unit * 4), 1e-12);
  }
  EXPECT_EQ(nn::orthogonal(kKey, {3, 4}, 1, DType::bf16).dtype(), DType::bf16);
  EXPECT_EQ(nn::orthogonal(kKey, {0, 4}).type().text(), "f32[0, 4]");
}

TEST(Initialization, OrthogonalMatricesHaveNoPreferredSigns) {
  // Householder's method alone leaves the signs of the diagonal of R, and so the first element of
  // Q, on one side.
  double total = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Tensor q = nn::orthogonal(random::key(seed), {2, 2});
    total += q[{0, 0}].item<double>() > 0 ? 1 : -1;
  }
  EXPECT_LT(std::abs(total), 60);
}

TEST(Initialization, SparseColumns) {
  const Tensor x = nn::sparse(kKey, {1000, 40}, 0.25, 3);
  const Tensor zeros_of_columns = sum(x == 0, 0);
  EXPECT_EQ(least(zeros_of_columns), 250);
  EXPECT_EQ(greatest(zeros_of_columns), 250);
  EXPECT_NEAR(deviation(x), 3 * std::sqrt(0.75), 0.05);
  const Tensor rows = sum(x == 0, 1);  // other rows in each column
  EXPECT_GT(greatest(rows) - least(rows), 3);
  EXPECT_LT(greatest(rows), 35);
  EXPECT_EQ(least(sum(nn::sparse(kKey, {3, 5}, 0.5) == 0, 0)), 2);  // rounded up
}

TEST(Initialization, WithoutRandomNumbers) {
  EXPECT_EQ(nn::constant({2, 3}, 0.5, DType::f64).text(), full({2, 3}, 0.5, DType::f64).text());
  EXPECT_EQ(nn::eye({2, 3}).text(), tensor(std::vector<float>{1, 0, 0, 0, 1, 0}, {2, 3}).text());
}

TEST(Initialization, DiracPreservesChannels) {
  const Tensor x = random::normal(kKey, {2, 4, 6, 5});
  const Tensor one = nn::dirac({4, 4, 3, 5});
  EXPECT_EQ(difference(conv2d(x, one, {}, {.padding = {1, 2}}), x), 0);
  const Tensor grouped = nn::dirac({4, 2, 3, 3}, 2);
  EXPECT_EQ(difference(conv2d(x, grouped, {}, {.padding = 1, .groups = 2}), x), 0);
  const Tensor fewer = nn::dirac({2, 4, 1, 1});
  EXPECT_EQ(difference(conv2d(x, fewer), x[{Slice{}, Slice{0, 2}}]), 0);
  EXPECT_EQ(nn::dirac({2, 2, 4})[0][0].text(), tensor<float>({0, 0, 1, 0}).text());
  EXPECT_EQ(nn::dirac({2, 0, 4}).type().text(), "f32[2, 0, 4]");
}

TEST(Initialization, RefusesWhatCannotBe) {
  const double nan = std::nan("");
  expect_contains(what_of<ValueError>([] { nn::uniform(kKey, {3}, 2., 1.); }),
                  {"nn::uniform", "from 2 to 1", "initialization_test.cpp"});
  expect_contains(what_of<ValueError>([] { nn::normal(kKey, {3}, 0, -1); }), {"std"});
  expect_contains(what_of<ValueError>([] { nn::trunc_normal(kKey, {3}, {.std = 0}); }),
                  {"std is 0"});
  expect_contains(what_of<ValueError>([] { nn::trunc_normal(kKey, {3}, {.a = 2}); }), {"bounds"});
  expect_contains(what_of<ValueError>([&] { nn::kaiming_normal(kKey, {3, 3}, {.a = nan}); }),
                  {"slope"});
  expect_contains(what_of<ValueError>([&] { nn::xavier_normal(kKey, {3, 3}, nan); }), {"gain"});
  expect_contains(what_of<ShapeError>([] { nn::orthogonal(kKey, {3}); }), {"[3]", "two"});
  expect_contains(what_of<ShapeError>([] { nn::sparse(kKey, {3, 3, 3}, 0.5); }),
                  {"[outputs, inputs]"});
  expect_contains(what_of<ValueError>([] { nn::sparse(kKey, {3, 3}, 1.5); }), {"sparsity is 1.5"});
  expect_contains(what_of<ShapeError>([] { nn::eye(Shape{3}); }), {"nn::eye", "[3]"});
  expect_contains(what_of<ShapeError>([] { nn::dirac({3, 3}); }), {"of a convolution"});
  expect_contains(what_of<ValueError>([] { nn::dirac({3, 3, 3}, 2); }), {"3 outputs in 2 groups"});
}

}  // namespace
}  // namespace plait::initialization_tests
