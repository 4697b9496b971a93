// Refusals of random.h.
#include <cmath>

#include <gtest/gtest.h>

#include "plait/ops/random.h"

#include "refusals.h"

namespace plait {
namespace {

using random::bernoulli, random::bits, random::categorical, random::exponential, random::gumbel,
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
};
const std::vector<Named<std::function<void(DType)>>> kOfFloats = {
    {"random::uniform", [](DType dtype) { uniform({2}, 0, 1, dtype); }},
    {"random::normal", [](DType dtype) { normal({2}, 0., 1., dtype); }},
    {"random::truncated_normal", [](DType dtype) { truncated_normal(-1, 1, {2}, dtype); }},
    {"random::exponential", [](DType dtype) { exponential({2}, dtype); }},
    {"random::laplace", [](DType dtype) { laplace({2}, dtype); }},
    {"random::gumbel", [](DType dtype) { gumbel({2}, dtype); }},
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
      {"random::randint", [] { randint({2}, 1, 1); }, kValue, {"from 1 to before 1"}},
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
  };
  for (const auto& [name, f] : kOfShape) {
    rows.push_back({name, [f] { f(keys(), {2, -1}); }, kShape, {"[2, -1]"}});
    rows.push_back({name, [f] { f(i64(), {2}); }, kType, {"i64[]", "key"}});
    rows.push_back({name, [f] { f(Tensor(), {2}); }, kValue, {"never given"}});
  }
  for (const auto& [name, f] : kOfFloats) {
    rows.push_back({name, [f] { f(DType::i32); }, kType, {"i32"}});
    rows.push_back({name, [f] { f(DType::c64); }, kType, {"c64"}});
  }
  return rows;
}

TEST(Refusals, Random) { expect_refused(refusals_of_random()); }

// Those of the default stream are asked for nothing, and leave it where it was.
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
