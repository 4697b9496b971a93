// Dropout: which elements are kept, how they are scaled, and the role of the key.
#include "plait/ops/neural/dropout.h"

#include "plait/core/error.h"
#include "plait/ops/neural/normalization.h"
#include "plait/ops/random/random.h"
#include "plait/tensor/rules.h"

#include "tests/ops/layer_support.h"

namespace plait {
namespace {

const Tensor kKey = random::key(7);

TEST(Dropout, KeepsASharedMeanAndVariance) {
  constexpr int64_t kCount = 1 << 20;
  for (const double p : {0.1, 0.5, 0.9}) {
    const Tensor dropped = dropout(ones({kCount}, DType::f64), p, kKey);
    // The values are 0 or 1/(1 − p): mean 1, variance p/(1 − p).
    const double variance = p / (1 - p);
    const double mean_found = mean(dropped).item<double>();
    EXPECT_NEAR(mean_found, 1, 5 * std::sqrt(variance / kCount)) << p;
    const double square_found = mean(square(dropped - 1)).item<double>();
    EXPECT_NEAR(square_found, variance, 5 * (variance + 1 / (1 - p)) / std::sqrt(kCount)) << p;
    // Neighbours are uncorrelated.
    const Tensor distance = dropped - 1;
    const double together =
        mean(slice(distance, 0, {.stop = -1}) * slice(distance, 0, {.start = 1})).item<double>();
    EXPECT_NEAR(together, 0, 5 * variance / std::sqrt(kCount)) << p;
  }
}

TEST(Dropout, GivesZeroOrAGrownNumber) {
  const Tensor x = wave({50, 40}) + 2;
  const Tensor dropped = dropout(x, 0.25, kKey);
  const std::vector<double> before = values_of(x), after = values_of(dropped);
  size_t kept = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    if (after[i] == 0) continue;
    ++kept;
    EXPECT_DOUBLE_EQ(after[i], before[i] / 0.75);
  }
  EXPECT_GT(kept, 1400u);
  EXPECT_LT(kept, 1600u);
}

TEST(Dropout, IsAMatterOfTheKeyAlone) {
  const Tensor x = wave({1000}) + 2, other = random::key(8);
  EXPECT_EQ(dropout(x, 0.5, kKey).text(), dropout(x, 0.5, random::key(7)).text());
  EXPECT_FALSE(all(dropout(x, 0.5, kKey) == dropout(x, 0.5, other)).item<bool>());
  // The kept elements depend neither on the values nor on the dtype.
  const Tensor kept = dropout(x, 0.5, kKey) != 0;
  EXPECT_TRUE(all(kept == (dropout(x * 3, 0.5, kKey) != 0)).item<bool>());
  EXPECT_TRUE(all(kept == (dropout(astype(x, DType::bf16), 0.5, kKey) != 0)).item<bool>());
  expect_same(dropout(x, 0.5, kKey), dropout(x, random::bernoulli(kKey, 0.5, x.shape()), 0.5), 0);
}

TEST(Dropout, DrawsFromTheDefaultStream) {
  const Tensor x = wave({100}) + 2;
  random::seed(3);
  const Tensor first = dropout(x), second = dropout(x, 0.5);
  EXPECT_FALSE(all(first == second).item<bool>());
  random::seed(3);
  expect_same(dropout(x), first, 0);
  random::seed(3);
  expect_same(dropout(x, 0.5, random::draw_key()), first, 0);
}

TEST(Dropout, AtBothEnds) {
  const Tensor x = doubles({1, -2, NAN, INFINITY});
  expect_values(dropout(x, 0, kKey), {1, -2, NAN, INFINITY});
  expect_values(dropout(x, 1, kKey), {0, 0, 0, 0});
  expect_values(dropout(zeros({0, 3}), 0.5, kKey), {});
  EXPECT_EQ(dropout(zeros({0, 3}), 0.5, kKey).shape(), (Shape{0, 3}));
  const double one = dropout(ones({}), 0.5, kKey).item<double>();
  EXPECT_TRUE(one == 0 || one == 2);
}

TEST(Dropout, OfOtherDTypes) {
  EXPECT_EQ(dropout(arange(4), 0.5, kKey).dtype(), DType::f32);
  EXPECT_EQ(dropout(zeros({2}, DType::f16), 0.5, kKey).dtype(), DType::f16);
  EXPECT_EQ(dropout(zeros({2}, DType::c64), 0.5, kKey).dtype(), DType::c64);
  const Tensor x = wave({6, 4}) + 2, turned = matrix_transpose(x);
  expect_same(dropout(turned, 0.5, kKey), dropout(reshape(turned + 0, {4, 6}), 0.5, kKey), 0);
}

TEST(Dropout, TracedAndWithSymbolicSizes) {
  const Tensor x = wave({4, 6}) + 2;
  const auto drop = [](const Tensor& x, const Tensor& key) { return dropout(x, 0.3, key); };
  expect_traced_alike(drop, x, kKey);
  expect_symbolic_alike(drop, {0, 1}, x, kKey);
  // Drawing from the default stream happens when the program runs.
  const TracedProgram traced = trace([](const Tensor& x) { return dropout(x, 0.3); })(x);
  std::vector<Tensor> given{x};
  given.insert(given.end(), traced.hidden_inputs.begin(), traced.hidden_inputs.end());
  random::seed(1);
  const Tensor first = evaluate(traced.program, given)[0];
  const Tensor second = evaluate(traced.program, given)[0];
  EXPECT_FALSE(all(first == second).item<bool>());
  random::seed(1);
  expect_same(dropout(x, 0.3), first, 0);
}

// x reaches the result only through products and a selection, both with rules: dropped elements
// have derivative 0, kept ones 1/(1 − p). The function is linear in x.
TEST(Dropout, IsLinearByTheMask) {
  const Tensor x = wave({64}), y = wave({64}, 1.9);
  const Tensor both = dropout(x + y * 2, 0.4, kKey);
  expect_same(both, dropout(x, 0.4, kKey) + dropout(y, 0.4, kKey) * 2, 1e-14);
  const auto drop = [](const Tensor& x, const Tensor& key) { return dropout(x, 0.4, key); };
  const TracedProgram traced = trace(drop)(x, kKey);
  for (const ir::Instruction instruction : traced.program.entry().instructions()) {
    if (instruction.operands().empty()) continue;
    const Rules* rules = find_rules(instruction.primitive());
    EXPECT_NE(rules, nullptr) << instruction.primitive().name;
  }
}

}  // namespace
}  // namespace plait
