#include "plait/ops/random/random.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/cpu/cpu_level.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/inside/random/philox.h"
#include "plait/ops/inside/random/random_primitives.h"
#include "plait/ops/random/stream_scope.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/rules.h"
#include "plait/tensor/tracing/trace_function.h"

#include "tests/ops/layer_support.h"
#include "tests/support/threads.h"

namespace plait {
namespace {

template <class T>
std::vector<T> values_as(const Tensor& x) {
  const Array array = x.array().contiguous();
  const auto elements = array.elements<T>();
  return {elements.begin(), elements.end()};
}

std::vector<KeyBits> keys_of(const Tensor& x) { return values_as<KeyBits>(x); }

TEST(Philox, GivesThePublishedAnswers) {
  // Known answers for philox4x32-10 from the Random123 library (kat_vectors).
  EXPECT_EQ(philox({0, 0, 0, 0}, 0), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0U, ~0U, ~0U, ~0U}, ~uint64_t{0}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomBits, AreTheBlocksOfTheStream) {
  const Tensor key = random::key(7);
  const KeyBits bits = keys_of(key)[0];
  // Longer than a piece, and not a multiple of the vector length.
  const auto words = values_as<uint32_t>(random::bits(key, {3077}));
  for (size_t i = 0; i < words.size(); ++i) {
    ASSERT_EQ(words[i], stream_block(bits, i / 4)[i % 4]) << i;
  }
  const auto wide = values_as<uint64_t>(random::bits(key, {3, 5}, DType::u64));
  const auto narrow = values_as<uint16_t>(random::bits(key, {30}, DType::u16));
  const auto bytes = values_as<uint8_t>(random::bits(key, {60}, DType::u8));
  for (size_t i = 0; i < 15; ++i) {
    EXPECT_EQ(wide[i], words[2 * i] | (uint64_t{words[2 * i + 1]} << 32));
    EXPECT_EQ(narrow[2 * i] | (uint32_t{narrow[2 * i + 1]} << 16), words[i]);
    EXPECT_EQ(bytes[4 * i + 2], (words[i] >> 16) & 0xff);
  }
  EXPECT_EQ(random::bits(key, {}).shape(), Shape());
  EXPECT_EQ(random::bits(key, {0, 4}).shape(), (Shape{0, 4}));
  EXPECT_THROW(random::bits(key, {-1}), ShapeError);
  EXPECT_THROW(random::bits(key, {1}, DType::i32), TypeError);
  EXPECT_THROW(random::bits(zeros({2}), {1}), TypeError);
}

TEST(RandomBits, HaveNoBiasAndNoEcho) {
  const auto words = values_as<uint64_t>(random::bits(random::key(1), {100000}, DType::u64));
  for (int bit = 0; bit < 64; ++bit) {
    int64_t ones = 0, repeats = 0;
    for (size_t i = 0; i < words.size(); ++i) {
      ones += words[i] >> bit & 1;
      if (i > 0) repeats += ~(words[i] ^ words[i - 1]) >> bit & 1;
    }
    // Five standard deviations of a fair coin.
    EXPECT_NEAR(static_cast<double>(ones), 50000, 800) << bit;
    EXPECT_NEAR(static_cast<double>(repeats), 50000, 800) << bit;
  }
}

TEST(RandomKeys, AllDiffer) {
  std::set<std::pair<uint64_t, uint64_t>> seen;
  size_t made = 0;
  const auto add = [&](const Tensor& keys) {
    for (const KeyBits& key : keys_of(keys)) {
      seen.insert({key.words[0], key.words[1]});
      ++made;
    }
  };
  add(random::key(arange(1000)));
  const Tensor key = random::key(uint64_t{1} << 40);
  add(random::split_key(key, 1000));
  add(random::fold_in(key, arange(1000)));
  add(random::split_key(random::split_key(key, 10), 10));
  EXPECT_EQ(seen.size(), made);
  EXPECT_EQ(keys_of(random::key(tensor<int32_t>({4, 5})))[1], keys_of(random::key(5))[0]);
  // The first of three keys equals the first of two.
  EXPECT_EQ(keys_of(random::split_key(key, 3))[1], keys_of(random::split_key(key))[1]);
  EXPECT_EQ(keys_of(random::fold_in(key, 12))[0], keys_of(random::fold_in(key, arange(13)))[12]);
  EXPECT_THROW(random::key(zeros({})), TypeError);
  EXPECT_THROW(random::fold_in(key, 0.5), TypeError);
  EXPECT_THROW(random::fold_in(random::split_key(key, 2), arange(3)), ShapeError);
  EXPECT_THROW(random::split_key(key, -1), ValueError);
}

TEST(RandomValues, AreTheSameWhateverComputesThem) {
  const Tensor key = random::key(3);
  const auto draw = [&] {
    return std::vector<Tensor>{random::bits(key, {5000}),
                               random::uniform(key, {5000}),
                               random::normal(key, {5000}),
                               random::gumbel(key, {5000}),
                               random::laplace(key, {5000}),
                               random::exponential(key, {5000}),
                               random::randint(key, {5000}, 0, 1000)};
  };
  const auto expected = draw();
  for (const int count : {1, 3}) {
    const Threads team(count);
    const auto again = draw();
    for (size_t i = 0; i < again.size(); ++i) {
      EXPECT_EQ(values_of(again[i]), values_of(expected[i])) << i;
    }
  }
  for (const CpuLevel level : {CpuLevel::sse4, CpuLevel::avx2}) {
    setting::kCpu.set(level);
    const auto again = draw();
    setting::kCpu.set(CpuLevel::best);
    EXPECT_EQ(values_of(again[0]), values_of(expected[0]));
    EXPECT_EQ(values_of(again[1]), values_of(expected[1]));
    for (size_t i = 2; i < again.size(); ++i) {
      const auto a = values_of(again[i]), b = values_of(expected[i]);
      for (size_t j = 0; j < a.size(); ++j) {
        ASSERT_NEAR(a[j], b[j], 2 * 0x1p-23 * std::abs(b[j])) << i << ' ' << j;
      }
    }
  }
}

// Vector kernels compared with the formulas in double precision.
TEST(RandomValues, AreWithinTwoUnits) {
  const Tensor key = random::key(11);
  const int64_t count = 100000;
  const auto words = values_as<uint32_t>(random::bits(key, {count}));
  for (const Distribution distribution : {Distribution::normal, Distribution::exponential,
                                          Distribution::laplace, Distribution::gumbel}) {
    const ir::Attributes attributes =
        ir::Attributes::of(RandomValuesAttributes{distribution, {Dim(count)}, DType::f32});
    const auto got = values_of(apply(random_primitives().values, {key}, attributes));
    std::vector<float> expected(count);
    for (int64_t i = 0; i < count; i += kRandomPiece) {
      random_values(distribution, DType::f32, words.data() + i, std::min(kRandomPiece, count - i),
                    reinterpret_cast<std::byte*>(expected.data() + i));
    }
    for (size_t i = 0; i < got.size(); ++i) {
      const double size = std::abs(expected[i]);
      ASSERT_NEAR(got[i], expected[i], 2 * 0x1p-23 * size) << static_cast<int>(distribution);
    }
  }
}

// Kolmogorov-Smirnov test: distance between the distribution of the sample and `cdf`. The fixed
// keys of these tests pass; one key in a thousand would not.
void expect_distribution(std::vector<double> sample, const std::function<double(double)>& cdf,
                         const char* name) {
  std::ranges::sort(sample);
  const auto n = static_cast<double>(sample.size());
  double distance = 0;
  for (size_t i = 0; i < sample.size(); ++i) {
    const double p = cdf(sample[i]), rank = static_cast<double>(i);
    distance = std::max({distance, p - rank / n, (rank + 1) / n - p});
  }
  EXPECT_LT(distance * std::sqrt(n), 1.95) << name;
}
void expect_moments(const std::vector<double>& sample, double mean, double variance,
                    const char* name) {
  const auto n = static_cast<double>(sample.size());
  double sum = 0, squares = 0;
  for (const double x : sample) sum += x;
  for (const double x : sample) squares += (x - sum / n) * (x - sum / n);
  EXPECT_NEAR(sum / n, mean, 5 * std::sqrt(variance / n)) << name;
  EXPECT_NEAR(squares / n, variance, 0.03 * variance) << name;
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2)); }

TEST(RandomValues, HaveTheirDistributions) {
  const double kPi = std::acos(-1.0), kEuler = 0.5772156649015329;
  struct Case {
    const char* name;
    std::function<Tensor(const Tensor&, const Shape&, DType)> draw;
    std::function<double(double)> cdf;
    double mean, variance;
  };
  using random::exponential, random::gumbel, random::laplace;
  const Case cases[] = {
      {"uniform", [](auto& k, auto& s, DType d) { return random::uniform(k, s, 0, 1, d); },
       [](double x) { return x; }, 0.5, 1. / 12},
      {"wide", [](auto& k, auto& s, DType d) { return random::uniform(k, s, -2, 5, d); },
       [](double x) { return (x + 2) / 7; }, 1.5, 49. / 12},
      {"normal", [](auto& k, auto& s, DType d) { return random::normal(k, s, 0., 1., d); },
       normal_cdf, 0, 1},
      {"exponential", [](auto& k, auto& s, DType d) { return exponential(k, s, d); },
       [](double x) { return 1 - std::exp(-x); }, 1, 1},
      {"laplace", [](auto& k, auto& s, DType d) { return laplace(k, s, d); },
       [](double x) { return x < 0 ? std::exp(x) / 2 : 1 - std::exp(-x) / 2; }, 0, 2},
      {"gumbel", [](auto& k, auto& s, DType d) { return gumbel(k, s, d); },
       [](double x) { return std::exp(-std::exp(-x)); }, kEuler, kPi * kPi / 6},
  };
  for (const Case& each : cases) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const auto sample = values_of(each.draw(random::key(21), {200000}, dtype));
      expect_distribution(sample, each.cdf, each.name);
      expect_moments(sample, each.mean, each.variance, each.name);
    }
    for (const DType dtype : {DType::f16, DType::bf16}) {
      expect_moments(values_of(each.draw(random::key(22), {100000}, dtype)), each.mean,
                     each.variance, each.name);
    }
  }
}

TEST(RandomValues, UniformStaysBelowTheUpperBound) {
  for (const DType dtype :
       {DType::f32, DType::f64, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2}) {
    const auto unit = values_of(random::uniform(random::key(2), {20000}, 0, 1, dtype));
    EXPECT_GE(*std::ranges::min_element(unit), 0);
    EXPECT_LT(*std::ranges::max_element(unit), 1);
    const auto shifted = values_of(random::uniform(random::key(2), {20000}, 2, 3, dtype));
    EXPECT_GE(*std::ranges::min_element(shifted), 2);
    EXPECT_LT(*std::ranges::max_element(shifted), 3);
  }
  EXPECT_THROW(random::uniform(random::key(0), {1}, 1, 1), ValueError);
  EXPECT_THROW(random::uniform(random::key(0), {1}, 0, NAN), ValueError);
  EXPECT_THROW(random::uniform(random::key(0), {1}, 0, 1, DType::i32), TypeError);
  EXPECT_THROW(random::normal(random::key(0), {1}, 0., 1., DType::c64), TypeError);
}

TEST(RandomValues, TruncatedNormalIsRightInTheTails) {
  const std::pair<double, double> bounds[] = {
      {-1, 2},  {-0.1, 0.2},     {0.5, 0.6},    {2, 9},
      {-9, -4}, {-INFINITY, -6}, {8, INFINITY}, {-INFINITY, INFINITY}};
  for (const auto& [low, high] : bounds) {
    // Differences of upper tails, which are accurate if both bounds are positive.
    const double sign = low > 0 ? 1 : -1;
    const auto tail = [&](double x) { return 0.5 * std::erfc(sign * x / std::sqrt(2)); };
    const double from = tail(low), all = from - tail(high);
    const auto sample =
        values_of(random::truncated_normal(random::key(5), low, high, {20000}, DType::f64));
    EXPECT_GE(*std::ranges::min_element(sample), low);
    EXPECT_LE(*std::ranges::max_element(sample), high);
    expect_distribution(sample, [&](double x) { return (from - tail(x)) / all; }, "truncated");
  }
  EXPECT_THROW(random::truncated_normal(random::key(5), 1, 1, {2}), ValueError);
  EXPECT_THROW(random::truncated_normal(random::key(5), NAN, 1, {2}), ValueError);
  EXPECT_THROW(random::truncated_normal(random::key(5), 1e300, INFINITY, {2}), ValueError);
}

TEST(RandomIntegers, AreEven) {
  for (const int64_t count : {1, 2, 7, 10}) {
    std::vector<double> seen(static_cast<size_t>(count));
    const auto drawn = values_as<int64_t>(random::randint(random::key(4), {70000}, -3, count - 3));
    for (const int64_t i : drawn) ++seen.at(static_cast<size_t>(i + 3));
    const double expected = 70000. / static_cast<double>(count);
    for (const double each : seen) EXPECT_NEAR(each, expected, 5 * std::sqrt(expected));
  }
  const int64_t third = int64_t{1} << 60;
  const auto drawn =
      values_as<int64_t>(random::randint(random::key(4), {30000}, -third, 2 * third));
  const auto low = std::ranges::count_if(drawn, [&](int64_t i) { return i < 0; });
  EXPECT_NEAR(static_cast<double>(low), 10000, 5 * std::sqrt(20000. / 3));
  EXPECT_EQ(random::randint(random::key(4), {2}, 0, 5, DType::i8).dtype(), DType::i8);
  EXPECT_THROW(random::randint(random::key(4), {2}, 0, 300, DType::u8), ValueError);
  EXPECT_THROW(random::randint(random::key(4), {2}, -1, 3, DType::u32), ValueError);
  EXPECT_THROW(random::randint(random::key(4), {2}, 3, 3), ValueError);
  EXPECT_THROW(random::randint(random::key(4), {2}, 0, 3, DType::f32), TypeError);
}

TEST(RandomChoices, BernoulliAndCategorical) {
  const Tensor p = tensor<float>({0, 0.25F, 1});
  const auto shares =
      values_of(mean(astype(random::bernoulli(random::key(1), p, Shape{40000, 3}), DType::f32), 0));
  EXPECT_EQ(shares[0], 0);
  EXPECT_NEAR(shares[1], 0.25, 0.011);
  EXPECT_EQ(shares[2], 1);
  EXPECT_THROW(random::bernoulli(random::key(1), 1.5), ValueError);

  const double weights[] = {1, 2, 0, 5};
  std::vector<float> logits;
  for (const double weight : weights) logits.push_back(static_cast<float>(std::log(weight)));
  const Tensor rows = broadcast_to(tensor(logits, {4}), {40000, 4});
  const Tensor drawn = random::categorical(random::key(9), rows);
  EXPECT_EQ(drawn.type().text(), "i64[40000]");
  std::vector<double> seen(4);
  for (const int64_t i : values_as<int64_t>(drawn)) ++seen.at(static_cast<size_t>(i));
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(seen[i] / 40000, weights[i] / 8, 0.0125);
  EXPECT_EQ(seen[2], 0);
  EXPECT_EQ(random::categorical(random::key(9), matrix_transpose(rows), 0).shape(), (Shape{40000}));
  EXPECT_EQ(random::categorical(random::key(9), tensor<float>({0, NAN})).text(), "1 : i64[]");
  EXPECT_THROW(random::categorical(random::key(9), zeros({})), ShapeError);
  EXPECT_THROW(random::categorical(random::key(9), zeros({2}), 1), IndexError);
}

TEST(RandomPermutation, AllOrdersAlikeLikely) {
  const Tensor keys = random::split_key(random::key(6), 24000);
  const auto places = values_as<int64_t>(random::permutation(keys, 4));
  std::map<std::vector<int64_t>, int> seen;
  for (size_t i = 0; i < places.size(); i += 4) {
    ++seen[std::vector(places.begin() + static_cast<ptrdiff_t>(i),
                       places.begin() + static_cast<ptrdiff_t>(i + 4))];
  }
  EXPECT_EQ(seen.size(), 24u);
  for (const auto& [order, count] : seen) EXPECT_NEAR(count, 1000, 160);
  auto longer = values_as<int64_t>(random::permutation(random::key(6), 10001));
  std::ranges::sort(longer);
  for (size_t i = 0; i < longer.size(); ++i) ASSERT_EQ(longer[i], static_cast<int64_t>(i));
  EXPECT_EQ(random::permutation(random::key(6), 0).text(), "[] : i64[0]");
  EXPECT_EQ(random::permutation(random::key(6), 1).text(), "[0] : i64[1]");
  EXPECT_THROW(random::permutation(random::key(6), -2), ValueError);
}

TEST(RandomPermutation, Shuffles) {
  const Tensor x = reshape(arange(12), {4, 3}), key = random::key(2);
  const Tensor order = random::permutation(key, 3);
  EXPECT_EQ(random::shuffle(key, x, 1).text(), take(x, order, 1).text());
  auto rows = values_as<int64_t>(slice(random::shuffle(key, x), 1, {.stop = 1}));
  std::ranges::sort(rows);
  EXPECT_EQ(rows, (std::vector<int64_t>{0, 3, 6, 9}));
  EXPECT_THROW(random::shuffle(random::split_key(key), x), ShapeError);
  EXPECT_THROW(random::shuffle(key, zeros({})), IndexError);
}

// Each key of a batch gives the same numbers as alone.
TEST(RandomBatches, AreAsEachLaneAlone) {
  const Tensor keys = reshape(random::split_key(random::key(8), 6), {2, 3});
  const auto draws = std::vector<std::function<Tensor(const Tensor&)>>{
      [](const Tensor& k) { return random::bits(k, {5}, DType::u8); },
      [](const Tensor& k) { return random::uniform(k, {3, 3}); },
      [](const Tensor& k) { return random::normal(k, {7}); },
      [](const Tensor& k) { return random::normal(k, {}, 0., 1., DType::f64); },
      [](const Tensor& k) { return random::randint(k, {4}, 0, 9); },
      [](const Tensor& k) { return random::permutation(k, 5); },
      [](const Tensor& k) { return random::truncated_normal(k, 0, 1, {3}); },
      [](const Tensor& k) { return random::categorical(k, zeros({2, 5})); },
  };
  for (const auto& draw : draws) {
    const Tensor all = draw(keys);
    const Shape whole = all.shape();
    for (int64_t i = 0; i < 2; ++i) {
      for (int64_t j = 0; j < 3; ++j) {
        const auto lane = [&](const Tensor& x) {
          return squeeze(squeeze(slice(slice(x, 0, {.start = i, .stop = i + 1}), 1,
                                       {.start = j, .stop = j + 1}),
                                 0),
                         0);
        };
        EXPECT_EQ(lane(all).text(), draw(lane(keys)).text());
      }
    }
  }
  const Rules* rules = find_rules(random_primitives().fold_in);
  const Tensor operands[] = {random::key(8), arange(4)};
  const auto batched = rules->batching.of(ir::Attributes(), std::span(operands), {false, true});
  EXPECT_EQ(keys_of(batched[0])[3], keys_of(random::fold_in(random::key(8), 3))[0]);
}

TEST(RandomTrace, TheProgramDrawsTheSame) {
  const auto f = [](const Tensor& key) {
    const Tensor keys = random::split_key(key, 3);
    return std::vector<Tensor>{random::normal(keys, {4}, 1., 2.), random::uniform(key, {3}, 1, 2),
                               random::categorical(random::fold_in(key, 4), zeros({5, 3})),
                               random::randint(key, {2}, 3, 8), random::permutation(key, 6)};
  };
  const Tensor key = random::key(13);
  const TracedProgram traced = trace(f)(key);
  const std::string text = traced.program.text();
  EXPECT_EQ(ir::Program::parse(text).text(), text);
  const auto results = evaluate(traced.program, {&key, 1});
  const auto expected = f(key);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(results[i].text(), expected[i].text());
}

TEST(RandomTrace, SizesStaySymbolic) {
  Trace recording("noise");
  const Tensor x = recording.parameter(ir::Type::array(DType::f32, {Dim::symbol("n")}), "x");
  const Tensor key = random::key(3);
  const Tensor results[] = {x + random::normal(key, x.shape()),
                            random::randint(key, {2}, 0, x.shape(0)),
                            random::permutation(key, x.shape(0))};
  const RecordedFunction recorded = recording.finish(results);
  const auto program = recording.program(recorded);
  for (const int64_t n : {1, 4, 9}) {
    const Tensor zero = zeros({n});
    const auto got = evaluate(program, {&zero, 1});
    EXPECT_EQ(got[0].text(), random::normal(random::key(3), {n}).text());
    EXPECT_EQ(got[1].text(), random::randint(random::key(3), {2}, 0, n).text());
    EXPECT_EQ(got[2].text(), random::permutation(random::key(3), n).text());
  }
}

TEST(RandomDefault, StreamFollowsTheSeedAndIsAnEffect) {
  random::seed(42);
  const std::string first = random::normal({3}).text(), second = random::uniform({3}).text();
  EXPECT_NE(random::normal({3}).text(), first);
  random::seed(42);
  EXPECT_EQ(random::normal({3}).text(), first);
  EXPECT_EQ(random::uniform({3}).text(), second);

  const auto f = [] { return random::normal({3}); };
  const TracedProgram traced = trace(f)();
  EXPECT_NE(traced.program.text().find("draw_key"), std::string::npos);
  random::seed(42);
  EXPECT_EQ(evaluate(traced.program, {})[0].text(), first);
  EXPECT_NE(evaluate(traced.program, {})[0].text(), first);
}

TEST(RandomDefault, ThreadsDrawEachKeyOnce) {
  random::seed(1);
  std::vector<std::vector<KeyBits>> drawn(4);
  std::vector<std::thread> threads;
  for (auto& keys : drawn) {
    threads.emplace_back([&keys] {
      for (int i = 0; i < 500; ++i) keys.push_back(keys_of(random::draw_key())[0]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::pair<uint64_t, uint64_t>> seen;
  for (const auto& keys : drawn) {
    for (const KeyBits& key : keys) seen.insert({key.words[0], key.words[1]});
  }
  EXPECT_EQ(seen.size(), 2000u);
}

TEST(RandomDefault, AScopeHasAStreamOfItsOwn) {
  const auto drawn = [] { return random::bits(Shape{3}).text(); };
  const KeyBits key{{7, 8}};
  random::seed(1);
  const std::string before[] = {drawn(), drawn()};
  random::seed(1);
  EXPECT_EQ(drawn(), before[0]);
  {
    random::StreamScope scope(key);
    const std::string first = drawn();
    EXPECT_EQ(first, random::bits(Tensor(Array::of(child_key(key, 0))), {3}).text());
    random::seed(1);
    EXPECT_EQ(drawn(), before[0]);
    EXPECT_THROW((void)random::uniform(Shape{-1}), ShapeError);
    EXPECT_EQ(drawn(), before[1]);  // a refused call draws nothing
    {
      const random::StreamScope inner(key);
      EXPECT_EQ(drawn(), first);
    }
    scope.begin(key);
    EXPECT_EQ(drawn(), first);
    std::string elsewhere;
    std::thread([&] { elsewhere = drawn(); }).join();
    EXPECT_EQ(elsewhere, before[1]);  // other threads draw from the stream of the process
  }
  random::seed(1);
  EXPECT_EQ(drawn(), before[0]);
}

}  // namespace
}  // namespace plait
