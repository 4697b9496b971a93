// Distributions with parameters. tests/python/arrays/random_test.py compares them with SciPy's.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/trace_function.h"

#include "tests/ops/layer_support.h"
#include "tests/support/threads.h"

namespace plait {
namespace {

using Draw = std::function<Tensor(const Tensor& key, const Shape& shape)>;

// Created in each call, so that a trace records it.
Tensor weights() { return astype(arange(1, 4), DType::f32); }

// Each function returns `shape`, some with further dimensions.
std::vector<std::pair<const char*, Draw>> draws() {
  using namespace random;
  using Key = const Tensor&;
  using To = const Shape&;
  return {
      {"gamma", [](Key k, To s) { return gamma(k, 0.7, s); }},
      {"loggamma", [](Key k, To s) { return loggamma(k, 0.01, s); }},
      {"beta", [](Key k, To s) { return beta(k, 2, 3, s); }},
      {"dirichlet", [](Key k, To s) { return dirichlet(k, weights(), s); }},
      {"chisquare", [](Key k, To s) { return chisquare(k, 3, s); }},
      {"f", [](Key k, To s) { return f(k, 3, 5, s); }},
      {"student_t", [](Key k, To s) { return student_t(k, 3, s); }},
      {"generalized_normal", [](Key k, To s) { return generalized_normal(k, 3, s); }},
      {"cauchy", [](Key k, To s) { return cauchy(k, s); }},
      {"logistic", [](Key k, To s) { return logistic(k, s); }},
      {"maxwell", [](Key k, To s) { return maxwell(k, s); }},
      {"double_sided_maxwell", [](Key k, To s) { return double_sided_maxwell(k, 1, 2, s); }},
      {"lognormal", [](Key k, To s) { return lognormal(k, 0, 1, s); }},
      {"rayleigh", [](Key k, To s) { return rayleigh(k, 2, s); }},
      {"weibull", [](Key k, To s) { return weibull(k, 1, 2, s); }},
      {"pareto", [](Key k, To s) { return pareto(k, 2, s); }},
      {"triangular", [](Key k, To s) { return triangular(k, 0, 1, 3, s); }},
      {"wald", [](Key k, To s) { return wald(k, 2, 1, s); }},
      {"rademacher", [](Key k, To s) { return rademacher(k, s); }},
      {"multivariate_normal",
       [](Key k, To s) { return multivariate_normal(k, weights(), eye(3), s); }},
      {"orthogonal", [](Key k, To s) { return orthogonal(k, 3, s); }},
      {"ball", [](Key k, To s) { return ball(k, 3, 2, s); }},
      {"poisson", [](Key k, To s) { return poisson(k, 20, s); }},
      {"few", [](Key k, To s) { return poisson(k, 2, s); }},
      {"binomial", [](Key k, To s) { return binomial(k, 100, .25, s); }},
      {"negative_binomial", [](Key k, To s) { return negative_binomial(k, 3, .25, s); }},
      {"geometric", [](Key k, To s) { return geometric(k, .25, s); }},
      {"multinomial", [](Key k, To s) { return multinomial(k, 30, weights(), s); }},
      {"choice", [](Key k, To s) { return choice(k, 100, s); }},
      {"likely", [](Key k, To s) { return choice(k, 3, s, {.p = weights()}); }},
      {"rows", [](Key k, To s) { return choice(k, eye(5), s, {.axis = 1}); }},
  };
}

TEST(RandomParameters, ShapesAreThoseOfTheKeysAndThoseAskedFor) {
  for (const auto& [name, draw] : draws()) {
    const Tensor keys = random::split_key(random::key(4), 2);
    const Shape one = draw(random::key(4), {3, 4}).shape(), many = draw(keys, {3, 4}).shape();
    ASSERT_EQ(many.rank(), one.rank() + 1) << name;
    EXPECT_EQ(many.at(0), 2) << name;
    EXPECT_EQ(draw(random::key(4), {0, 4}).shape().element_count(), 0) << name;
    EXPECT_LE(draw(random::key(4), {}).rank(), 2u) << name;
  }
  const Tensor a = tensor<double>({1, 2, 3});
  EXPECT_EQ(random::gamma(random::key(1), a).type().text(), "f64[3]");
  EXPECT_EQ(random::gamma(random::key(1), 2).type().text(), "f32[]");
  EXPECT_EQ(random::gamma(random::key(1), 2, Shape{2}, DType::bf16).type().text(), "bf16[2]");
  EXPECT_EQ(random::beta(random::key(1), reshape(weights(), {3, 1}), a).type().text(), "f64[3, 3]");
  EXPECT_EQ(random::poisson(random::key(1), a, Shape{2, 3}, DType::i16).type().text(), "i16[2, 3]");
  EXPECT_EQ(random::dirichlet(random::key(1), a).type().text(), "f64[3]");
}

TEST(RandomParameters, GiveTheSameWhateverComputesThem) {
  const Tensor key = random::key(3);
  for (const auto& [name, draw] : draws()) {
    const auto expected = values_of(draw(key, {5000}));
    const Threads team(3);
    EXPECT_EQ(values_of(draw(key, {5000})), expected) << name;
  }
}

// An element depends only on its index and its parameters.
TEST(RandomParameters, AnElementHeedsNoOther) {
  const Tensor key = random::key(3);
  const auto many = values_of(random::gamma(key, 0.5, Shape{3000}));
  const auto few = values_of(random::gamma(key, 0.5, Shape{7}));
  EXPECT_TRUE(std::ranges::equal(few, std::span(many).first(7)));
  std::vector<double> rates(3000, 50.);
  const auto counts = values_of(random::poisson(key, tensor(rates, {3000})));
  for (size_t i = 0; i < rates.size(); i += 2) rates[i] = 3 + static_cast<double>(i % 7);
  const auto others = values_of(random::poisson(key, tensor(rates, {3000})));
  for (size_t i = 1; i < rates.size(); i += 2) ASSERT_EQ(others[i], counts[i]) << i;
}

TEST(RandomParameters, EachKeyDrawsAsAlone) {
  const Tensor keys = reshape(random::split_key(random::key(8), 4), {2, 2});
  for (const auto& [name, draw] : draws()) {
    const Tensor all = draw(keys, {3});
    for (int64_t i = 0; i < 2; ++i) {
      for (int64_t j = 0; j < 2; ++j) {
        const auto lane = [&](const Tensor& x) {
          return squeeze(squeeze(slice(slice(x, 0, {.start = i, .stop = i + 1}), 1,
                                       {.start = j, .stop = j + 1}),
                                 0),
                         0);
        };
        EXPECT_EQ(lane(all).text(), draw(lane(keys), {3}).text()) << name;
      }
    }
  }
}

TEST(RandomParameters, SizesStaySymbolic) {
  for (const auto& [name, draw] : draws()) {
    Trace recording("noise");
    const Tensor x = recording.parameter(ir::Type::array(DType::f32, {Dim::symbol("n")}), "x");
    const Tensor results[] = {draw(random::key(3), x.shape())};
    const auto program = recording.program(recording.finish(results));
    for (const int64_t n : {1, 4}) {
      const Tensor zero = zeros({n});
      EXPECT_EQ(evaluate(program, {&zero, 1})[0].text(), draw(random::key(3), {n}).text()) << name;
    }
  }
}

TEST(RandomParameters, OfTheDefaultStream) {
  random::seed(4);
  const std::string first = random::gamma(2, Shape{3}).text();
  EXPECT_NE(random::gamma(2, Shape{3}).text(), first);
  random::seed(4);
  EXPECT_EQ(random::gamma(2, Shape{3}).text(), first);
}

TEST(RandomParameters, TinyAndHuge) {
  const Tensor key = random::key(12);
  const double infinity = std::numeric_limits<double>::infinity();
  const auto at = [&](double a) {
    return values_of(random::gamma(key, tensor<double>({a}), Shape{50}))[7];
  };
  EXPECT_EQ(at(0), 0);
  EXPECT_EQ(at(infinity), infinity);
  EXPECT_TRUE(std::isnan(at(-1)));
  EXPECT_TRUE(std::isnan(at(NAN)));
  EXPECT_NEAR(at(1e300) / 1e300, 1, 1e-12);
  EXPECT_EQ(at(1e-300), 0);
  const auto logs = values_of(random::loggamma(key, tensor<double>({1e-300}), Shape{50}));
  for (const double log : logs) EXPECT_LT(log, -1e297);
  // All shares exist, and one of them is 1.
  const auto shares = values_of(random::dirichlet(key, full({3}, 1e-12), Shape{50}));
  for (size_t i = 0; i < shares.size(); i += 3) {
    EXPECT_EQ(shares[i] + shares[i + 1] + shares[i + 2], 1);
    EXPECT_EQ(std::max({shares[i], shares[i + 1], shares[i + 2]}), 1);
  }
  EXPECT_EQ(random::poisson(key, 0).text(), "0 : i64[]");
  EXPECT_EQ(random::poisson(key, 1e30).text(), "9223372036854775807 : i64[]");
  EXPECT_EQ(random::poisson(key, 1e4, {}, DType::u8).text(), "255 : u8[]");
  EXPECT_NEAR(values_of(random::poisson(key, 1e16))[0], 1e16, 6e8);
  EXPECT_EQ(random::binomial(key, 7, 0).text(), "0 : i64[]");
  EXPECT_EQ(random::binomial(key, 7, 1).text(), "7 : i64[]");
  EXPECT_EQ(random::binomial(key, 0, .5).text(), "0 : i64[]");
  EXPECT_NEAR(values_of(random::binomial(key, int64_t{1} << 60, .25))[0], 0x1p58, 6 * 0x1p29);
  EXPECT_EQ(random::geometric(key, 1).text(), "1 : i64[]");
  EXPECT_EQ(random::geometric(key, 0, {}, DType::i8).text(), "127 : i8[]");
  EXPECT_EQ(random::multinomial(key, 5, tensor<float>({0, 2, 0})).text(), "[0 5 0] : i64[3]");
}

TEST(RandomParameters, WrongElementsAreTold) {
  const Tensor key = random::key(1), bad = tensor<float>({1, -1});
  EXPECT_THROW(random::poisson(key, bad), ValueError);
  EXPECT_THROW(random::binomial(key, 4, bad), ValueError);
  EXPECT_THROW(random::binomial(key, tensor<int64_t>({4, -4}), .5), ValueError);
  EXPECT_THROW(random::multinomial(key, 4, bad), ValueError);
  EXPECT_THROW(random::multinomial(key, 4, zeros({2})), ValueError);
  EXPECT_THROW(random::geometric(key, bad), CheckError);
  EXPECT_THROW(random::geometric(key, tensor<float>({0.5F, NAN})), CheckError);
  EXPECT_THROW(random::choice(key, 2, {3}, {.p = bad}), CheckError);
  const Tensor one_of_three = tensor<float>({0, 1, 0});
  EXPECT_THROW(random::choice(key, 3, {2}, {.replace = false, .p = one_of_three}), CheckError);
  EXPECT_EQ(random::choice(key, 3, {1}, {.replace = false, .p = one_of_three}).text(),
            "[1] : i64[1]");
}

TEST(RandomMatrices, AreOrthogonal) {
  const Tensor q = random::orthogonal(random::key(5), 4, {200}, DType::f64);
  EXPECT_LT(values_of(max(absolute(matmul(q, matrix_transpose(q)) - eye(4, 4, DType::f64))))[0],
            1e-13);
  // No direction is preferred: each element has mean 0 and mean square 1/4.
  for (const double mean : values_of(mean(q, 0))) EXPECT_NEAR(mean, 0, 0.15);
  for (const double mean : values_of(mean(square(q), 0))) EXPECT_NEAR(mean, 0.25, 0.1);
}

TEST(RandomMatrices, NormalVectorsHaveTheirCovariance) {
  const Tensor root = tensor(std::vector<double>{2, 0, 0, 1, 1, 0, -1, 2, 0}, {3, 3});
  const Tensor covariance = matmul(root, matrix_transpose(root));  // singular
  const Tensor mean_of = tensor<double>({1, -2, 3});
  const Tensor x = random::multivariate_normal(random::key(2), mean_of, covariance, Shape{40000},
                                               random::CovarianceRoot::eigen);
  const Tensor centred = x - mean_of;
  const Tensor found = matmul(matrix_transpose(centred), centred) / 40000;
  EXPECT_LT(values_of(max(absolute(found - covariance)))[0], 0.15);
  EXPECT_LT(values_of(max(absolute(mean(centred, 0))))[0], 0.06);
  EXPECT_THROW(random::multivariate_normal(random::key(2), mean_of, covariance), ValueError);
}

TEST(RandomChoices, TakeEachThingOnceWithoutReplacement) {
  const Tensor key = random::key(6);
  auto all = values_of(random::choice(key, 20, {4, 5}, {.replace = false}));
  std::ranges::sort(all);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<double>(i));
  auto likely = values_of(random::choice(key, 3, {3}, {.replace = false, .p = weights()}));
  std::ranges::sort(likely);
  EXPECT_EQ(likely, (std::vector<double>{0, 1, 2}));
  const Tensor some = random::choice(key, 3, {1000}, {.p = tensor<float>({0, 1, 0})});
  EXPECT_EQ(values_of(min(some))[0], 1);
  EXPECT_EQ(values_of(max(some))[0], 1);
  EXPECT_EQ(random::choice(key, arange(12), {2, 2}).shape(), (Shape{2, 2}));
  EXPECT_EQ(random::choice(key, zeros({3, 4, 5}), {7, 2}, {.axis = 1}).shape(),
            (Shape{3, 7, 2, 5}));
}

}  // namespace
}  // namespace plait
