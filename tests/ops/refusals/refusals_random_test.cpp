// Refusals of random.h.
#include <cmath>

#include <gtest/gtest.h>

#include "plait/ops/random/random.h"

#include "refusals.h"

namespace plait {
namespace {

using random::bernoulli, random::binomial, random::bits, random::choice, random::dirichlet,
    random::gamma, random::geometric, random::multinomial, random::multivariate_normal,
    random::negative_binomial, random::orthogonal, random::poisson, random::rademacher,
    random::triangular, random::ball, random::categorical, random::exponential, random::gumbel,
    random::laplace, random::normal, random::permutation, random::randint, random::shuffle,
    random::truncated_normal, random::uniform;

const std::vector<Named<std::function<void(const Tensor&, const Shape&)>>> kOfShape = {
    {"random::bits", [](const Tensor& key, const Shape& s) { bits(key, s); }},
    {"random::uniform", [](const Tensor& key, const Shape& s) { uniform(key, s); }},
    {"random::normal", [](const Tensor& key, const Shape& s) { normal(key, s); }},
    {"random::truncated_normal",
     [](const Tensor& key, const Shape& s) { truncated_normal(key, -1, 1, s); }},
    {"random::exponential", [](const Tensor& key, const Shape& s) { exponential(key, s); }},
    {"random::laplace", [](const Tensor& key, const Shape& s) { laplace(key, s); }},
    {"random::gumbel", [](const Tensor& key, const Shape& s) { gumbel(key, s); }},
    {"random::randint", [](const Tensor& key, const Shape& s) { randint(key, s, 0, 9); }},
    {"random::bernoulli", [](const Tensor& key, const Shape& s) { bernoulli(key, .5, s); }},
    {"random::cauchy", [](const Tensor& key, const Shape& s) { random::cauchy(key, s); }},
    {"random::logistic", [](const Tensor& key, const Shape& s) { random::logistic(key, s); }},
    {"random::maxwell", [](const Tensor& key, const Shape& s) { random::maxwell(key, s); }},
    {"random::rademacher", [](const Tensor& key, const Shape& s) { rademacher(key, s); }},
    {"random::orthogonal", [](const Tensor& key, const Shape& s) { orthogonal(key, 2, s); }},
    {"random::ball", [](const Tensor& key, const Shape& s) { ball(key, 2, 2, s); }},
    {"random::choice", [](const Tensor& key, const Shape& s) { choice(key, 4, s); }},
};
// A function of one parameter, which must be positive, nonnegative, or a probability; all other
// arguments are valid.
struct OfParameter {
  const char* name;
  const char* parameter;
  double wrong;
  std::function<void(const Tensor& key, const Operand& x, const Shape& s)> call;
};
using K = const Tensor&;
using X = const Operand&;
using S = const Shape&;
const std::vector<OfParameter> kOfParameters = {
    {"random::gamma", "a", 0, [](K k, X x, S s) { gamma(k, x, s); }},
    {"random::loggamma", "a", 0, [](K k, X x, S s) { random::loggamma(k, x, s); }},
    {"random::beta", "a", 0, [](K k, X x, S s) { random::beta(k, x, 1, s); }},
    {"random::beta", "b", 0, [](K k, X x, S s) { random::beta(k, 1, x, s); }},
    {"random::chisquare", "degrees", 0, [](K k, X x, S s) { random::chisquare(k, x, s); }},
    {"random::f", "degrees_above", 0, [](K k, X x, S s) { random::f(k, x, 1, s); }},
    {"random::f", "degrees_below", 0, [](K k, X x, S s) { random::f(k, 1, x, s); }},
    {"random::student_t", "degrees", 0, [](K k, X x, S s) { random::student_t(k, x, s); }},
    {"random::generalized_normal", "p", 0,
     [](K k, X x, S s) { random::generalized_normal(k, x, s); }},
    {"random::double_sided_maxwell", "location", NAN,
     [](K k, X x, S s) { random::double_sided_maxwell(k, x, 1, s); }},
    {"random::double_sided_maxwell", "scale", -1,
     [](K k, X x, S s) { random::double_sided_maxwell(k, 1, x, s); }},
    {"random::lognormal", "mean", NAN, [](K k, X x, S s) { random::lognormal(k, x, 1, s); }},
    {"random::lognormal", "deviation", -1, [](K k, X x, S s) { random::lognormal(k, 1, x, s); }},
    {"random::rayleigh", "scale", -1, [](K k, X x, S s) { random::rayleigh(k, x, s); }},
    {"random::weibull", "scale", -1, [](K k, X x, S s) { random::weibull(k, x, 1, s); }},
    {"random::weibull", "concentration", 0, [](K k, X x, S s) { random::weibull(k, 1, x, s); }},
    {"random::pareto", "b", 0, [](K k, X x, S s) { random::pareto(k, x, s); }},
    {"random::triangular", "low", NAN, [](K k, X x, S s) { triangular(k, x, 1, 2, s); }},
    {"random::triangular", "mode", NAN, [](K k, X x, S s) { triangular(k, 0, x, 2, s); }},
    {"random::triangular", "high", NAN, [](K k, X x, S s) { triangular(k, 0, 1, x, s); }},
    {"random::wald", "mean", 0, [](K k, X x, S s) { random::wald(k, x, 1, s); }},
    {"random::wald", "scale", 0, [](K k, X x, S s) { random::wald(k, 1, x, s); }},
    {"random::poisson", "rate", -1, [](K k, X x, S s) { poisson(k, x, s); }},
    {"random::binomial", "p", 2, [](K k, X x, S s) { binomial(k, 3, x, s); }},
    {"random::negative_binomial", "count", 0,
     [](K k, X x, S s) { negative_binomial(k, x, .5, s); }},
    {"random::negative_binomial", "p", -1, [](K k, X x, S s) { negative_binomial(k, 3, x, s); }},
    {"random::geometric", "p", 2, [](K k, X x, S s) { geometric(k, x, s); }},
};
const std::vector<Named<std::function<void(DType)>>> kOfIntegers = {
    {"random::poisson", [](DType dtype) { poisson(2, {}, dtype); }},
    {"random::binomial", [](DType dtype) { binomial(2, .5, {}, dtype); }},
    {"random::negative_binomial", [](DType dtype) { negative_binomial(2, .5, {}, dtype); }},
    {"random::geometric", [](DType dtype) { geometric(.5, {}, dtype); }},
    {"random::multinomial", [](DType dtype) { multinomial(2, f32(2), {}, dtype); }},
};
const std::vector<Named<std::function<void(DType)>>> kOfFloats = {
    {"random::uniform", [](DType dtype) { uniform({2}, 0, 1, dtype); }},
    {"random::normal", [](DType dtype) { normal({2}, 0., 1., dtype); }},
    {"random::truncated_normal", [](DType dtype) { truncated_normal(-1, 1, {2}, dtype); }},
    {"random::exponential", [](DType dtype) { exponential({2}, dtype); }},
    {"random::laplace", [](DType dtype) { laplace({2}, dtype); }},
    {"random::gumbel", [](DType dtype) { gumbel({2}, dtype); }},
    {"random::cauchy", [](DType dtype) { random::cauchy({2}, dtype); }},
    {"random::logistic", [](DType dtype) { random::logistic({2}, dtype); }},
    {"random::maxwell", [](DType dtype) { random::maxwell({2}, dtype); }},
    {"random::orthogonal", [](DType dtype) { orthogonal(2, {}, dtype); }},
    {"random::ball", [](DType dtype) { ball(2, 2, {}, dtype); }},
    {"random::gamma", [](DType dtype) { gamma(2, {}, dtype); }},
    {"random::triangular", [](DType dtype) { triangular(0, 1, 2, {}, dtype); }},
    {"random::dirichlet", [](DType dtype) { dirichlet(f32(2), {}, dtype); }},
    {"random::multivariate_normal",
     [](DType dtype) { multivariate_normal(f32(2), f32(2, 2), {}, {}, dtype); }},
};

}  // namespace

Refusals refusals_of_random() {
  Refusals rows = {
      {"random::key", [] { random::key(f32(2)); }, kType, {"f32[2]"}},
      {"random::key", [] { random::key(keys(2)); }, kType, {"key[2]"}},
      {"random::split_key", [] { random::split_key(keys(), -1); }, kValue, {"-1", "key[]"}},
      {"random::split_key", [] { random::split_key(i64(2)); }, kType, {"i64[2]"}},
      {"random::fold_in", [] { random::fold_in(i64(2), 1); }, kType, {"i64[2]"}},
      {"random::fold_in", [] { random::fold_in(keys(2), 1.5); }, kType, {"f32[]"}},
      {"random::fold_in", [] { random::fold_in(keys(2), f32(2)); }, kType, {"key[2]", "f32[2]"}},
      {"random::fold_in", [] { random::fold_in(keys(2), i64(3)); }, kShape, {"key[2]", "i64[3]"}},
      {"random::bits", [] { bits({2}, DType::i32); }, kType, {"i32"}},
      {"random::bits", [] { bits({2}, DType::f32); }, kType, {"f32"}},
      {"random::uniform", [] { uniform({2}, 1, 1); }, kValue, {"from 1 to 1"}},
      {"random::uniform", [] { uniform({2}, 2, 1); }, kValue, {"from 2 to 1"}},
      {"random::uniform", [] { uniform({2}, 0, NAN); }, kValue, {"nan"}},
      {"random::uniform", [] { uniform({2}, 0, INFINITY); }, kValue, {"inf"}},
      {"random::uniform", [] { uniform({2}, 0, 1e6, DType::f16); }, kValue, {"1000000", "f16"}},
      {"random::normal", [] { normal({2}, f32(3)); }, kShape, {"[2]", "f32[3]"}},
      {"random::normal", [] { normal({2}, 0., f32(3)); }, kShape, {"[2]", "f32[3]"}},
      {"random::normal", [] { normal({2}, 0., -1.); }, kValue, {"deviation", "-1"}},
      {"random::normal", [] { normal({2}, 0., NAN); }, kValue, {"deviation", "nan"}},
      {"random::normal", [] { normal({2}, keys(2)); }, kType, {"key[2]"}},
      {"random::truncated_normal", [] { truncated_normal(1, 1, {2}); }, kValue, {"from 1 to 1"}},
      {"random::truncated_normal", [] { truncated_normal(0, NAN, {2}); }, kValue, {"nan"}},
      {"random::randint", [] { randint({2}, 1, 1); }, kValue, {"the range [1, 1) is empty"}},
      {"random::randint", [] { randint({2}, 0, 300, DType::u8); }, kValue, {"300", "u8"}},
      {"random::randint", [] { randint({2}, -1, 3, DType::u8); }, kValue, {"-1", "u8"}},
      {"random::randint", [] { randint({2}, 0, 3, DType::f32); }, kType, {"f32"}},
      {"random::randint",
       [] { randint({2}, -(int64_t{1} << 61), (int64_t{1} << 61) + 1); },
       kValue,
       {"-2305843009213693952"}},
      {"random::bernoulli", [] { bernoulli(1.5); }, kValue, {"1.5"}},
      {"random::bernoulli", [] { bernoulli(-.5); }, kValue, {"-0.5"}},
      {"random::bernoulli", [] { bernoulli(NAN); }, kValue, {"nan"}},
      {"random::bernoulli", [] { bernoulli(f32(3) / 3, Shape{2}); }, kShape, {"f32[3]", "[2]"}},
      {"random::bernoulli", [] { bernoulli(c64(3)); }, kType, {"c64[3]"}},
      {"random::bernoulli", [] { bernoulli(keys(3)); }, kType, {"key[3]"}},
      {"random::categorical", [] { categorical(f32()); }, kShape, {"f32[]"}},
      {"random::categorical", [] { categorical(f32(2), 1); }, kIndex, {"axis 1", "f32[2]"}},
      {"random::categorical", [] { categorical(f32(2, 0)); }, kValue, {"f32[2, 0]"}},
      {"random::categorical", [] { categorical(c64(2)); }, kType, {"c64[2]"}},
      {"random::categorical", [] { categorical(keys(2)); }, kType, {"key[2]"}},
      {"random::categorical", [] { categorical(f32(), f32(2)); }, kType, {"f32[]", "key"}},
      {"random::permutation", [] { permutation(-1); }, kValue, {"-1"}},
      {"random::permutation", [] { permutation(f32(), 2); }, kType, {"f32[]"}},
      {"random::shuffle", [] { shuffle(f32(2), 1); }, kIndex, {"axis 1", "f32[2]"}},
      {"random::shuffle", [] { shuffle(f32()); }, kIndex, {"axis 0", "f32[]"}},
      {"random::shuffle", [] { shuffle(keys(2), f32(2)); }, kShape, {"key[2]", "f32[2]"}},
      {"random::shuffle", [] { shuffle(f32(), f32(2)); }, kType, {"f32[]", "f32[2]"}},
      {"random::rademacher", [] { rademacher({2}, DType::u8); }, kType, {"u8"}},
      {"random::binomial", [] { binomial(-1, .5); }, kValue, {"count", "-1"}},
      {"random::binomial", [] { binomial(2.5, .5); }, kType, {"count", "f32[]"}},
      {"random::binomial", [] { binomial(f32(2), .5); }, kType, {"count", "f32[2]"}},
      {"random::binomial", [] { binomial(i64(2), f32(3) / 4); }, kShape, {"i64[2]", "f32[3]"}},
      {"random::poisson", [] { poisson(-f32(2)); }, kValue, {"-1"}, false},
      {"random::dirichlet", [] { dirichlet(f32()); }, kShape, {"f32[]"}},
      {"random::dirichlet", [] { dirichlet(f32(2, 3), Shape{3}); }, kShape, {"[2]", "[3]"}},
      {"random::dirichlet", [] { dirichlet(c64(2)); }, kType, {"c64[2]"}},
      {"random::dirichlet", [] { dirichlet(keys(2)); }, kType, {"key[2]"}},
      {"random::dirichlet", [] { dirichlet(f32(), f32(2)); }, kType, {"f32[]"}},
      {"random::multinomial", [] { multinomial(2, f32()); }, kShape, {"f32[]"}},
      {"random::multinomial", [] { multinomial(-2, f32(2)); }, kValue, {"count", "-2"}},
      {"random::multinomial", [] { multinomial(f32(), f32(2)); }, kType, {"count", "f32[]"}},
      {"random::multinomial", [] { multinomial(2, c64(2)); }, kType, {"weights", "c64[2]"}},
      {"random::multinomial", [] { multinomial(i64(2), f32(3, 2)); }, kShape, {"[2]", "[3]"}},
      {"random::multinomial", [] { multinomial(2, f32(3, 2), Shape{2}); }, kShape, {"[3]", "[2]"}},
      {"random::multinomial", [] { multinomial(2, -f32(2)); }, kValue, {"-1"}, false},
      {"random::multivariate_normal",
       [] { multivariate_normal(f32(2), f32(3, 3)); },
       kShape,
       {"f32[2]", "f32[3, 3]"}},
      {"random::multivariate_normal",
       [] { multivariate_normal(f32(2), f32(2, 3)); },
       kShape,
       {"f32[2]", "f32[2, 3]"}},
      {"random::multivariate_normal", [] { multivariate_normal(f32(), f32()); }, kShape, {"f32[]"}},
      {"random::multivariate_normal",
       [] { multivariate_normal(f32(3, 2), f32(2, 2), Shape{2}); },
       kShape,
       {"[3]", "[2]"}},
      {"random::multivariate_normal",
       [] { multivariate_normal(c64(2), f32(2, 2)); },
       kType,
       {"c64[2]"}},
      {"random::multivariate_normal",
       [] { multivariate_normal(f32(2), -f32(2, 2)); },
       kValue,
       {"f32[2, 2]"},
       false},
      {"random::orthogonal", [] { orthogonal(-1); }, kShape, {"-1"}},
      {"random::ball", [] { ball(-1); }, kShape, {"-1"}},
      {"random::ball", [] { ball(2, 0); }, kValue, {"p", "0"}},
      {"random::choice", [] { choice(-1); }, kValue, {"-1"}},
      {"random::choice", [] { choice(0); }, kValue, {"0"}},
      {"random::choice", [] { choice(3, {4}, {.replace = false}); }, kValue, {"4 of 3"}},
      {"random::choice", [] { choice(3, {}, {.p = f32(2)}); }, kShape, {"f32[2]", "3"}},
      {"random::choice", [] { choice(2, {}, {.p = c64(2)}); }, kType, {"c64[2]"}},
      {"random::choice", [] { choice(f32(2), {}, {.axis = 1}); }, kIndex, {"axis 1", "f32[2]"}},
      {"random::choice", [] { choice(f32(), Shape{2}); }, kIndex, {"f32[]"}},
  };
  for (const auto& [name, f] : kOfShape) {
    rows.push_back({name, [f] { f(keys(), {2, -1}); }, kShape, {"[2, -1]"}});
    rows.push_back({name, [f] { f(i64(), {2}); }, kType, {"i64[]", "key"}});
    rows.push_back({name, [f] { f(Tensor(), {2}); }, kValue, {"never given"}});
  }
  for (const auto& [name, parameter, wrong, call] : kOfParameters) {
    rows.push_back({name, [=] { call(keys(), wrong, {2}); }, kValue, {parameter}});
    rows.push_back({name, [=] { call(keys(), NAN, {2}); }, kValue, {parameter, "nan"}});
    rows.push_back({name, [=] { call(keys(), c64(2), {2}); }, kType, {parameter, "c64[2]"}});
    rows.push_back({name, [=] { call(keys(), keys(2), {2}); }, kType, {parameter, "key[2]"}});
    rows.push_back({name, [=] { call(keys(), f32(3), {2}); }, kShape, {"[3]", "[2]"}});
    rows.push_back({name, [=] { call(keys(), f32(1), {2, -1}); }, kShape, {"[2, -1]"}});
    rows.push_back({name, [=] { call(i64(), f32(2), {2}); }, kType, {"i64[]", "key"}});
    rows.push_back({name, [=] { call(Tensor(), f32(2), {2}); }, kValue, {"never given"}});
  }
  for (const auto& [name, f] : kOfIntegers) {
    rows.push_back({name, [f] { f(DType::f32); }, kType, {"f32"}});
    rows.push_back({name, [f] { f(DType::boolean); }, kType, {"bool"}});
  }
  for (const auto& [name, f] : kOfFloats) {
    rows.push_back({name, [f] { f(DType::i32); }, kType, {"i32"}});
    rows.push_back({name, [f] { f(DType::c64); }, kType, {"c64"}});
  }
  return rows;
}

TEST(Refusals, Random) { expect_refused(refusals_of_random()); }

// Refused calls do not advance the default stream.
TEST(Refusals, LeaveTheDefaultStreamWhereItIs) {
  random::seed(5);
  const std::string first = uniform({3}).text();
  random::seed(5);
  for (const Refusal& row : refusals_of_random()) {
    EXPECT_THROW(row.call(), Error) << row.function;
  }
  EXPECT_EQ(uniform({3}).text(), first);
}

}  // namespace plait
