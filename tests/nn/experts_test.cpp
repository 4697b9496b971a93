// Mixtures of experts compared with a loop over tokens and experts.
#include "plait/nn/sequences/experts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "plait/nn/models/mode.h"
#include "plait/nn/models/state.h"
#include "plait/ops/neural/activation.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/statistics.h"
#include "plait/transform/programs.h"

#include "tests/nn/sequence_ways.h"
#include "tests/support/errors.h"

namespace plait::sequence_ways {
namespace {

// The experts that a token selects, the best first.
std::vector<int64_t> selected_by(const Tensor& logits, int64_t count) {
  std::vector<int64_t> experts(static_cast<size_t>(logits.shape(0).number()));
  std::iota(experts.begin(), experts.end(), 0);
  std::sort(experts.begin(), experts.end(), [&](int64_t a, int64_t b) {
    return logits[a].item<double>() > logits[b].item<double>();
  });
  experts.resize(static_cast<size_t>(count));
  return experts;
}

Tensor picked(const Tensor& x, const std::vector<int64_t>& places) {
  std::vector<Tensor> parts;
  for (const int64_t place : places) parts.push_back(x[place]);
  return stack(parts);
}

// Each token through each expert that it selects, and the losses. `selection` has the numbers that
// select, which may be known where those of the layer are traced.
std::pair<Tensor, nn::MoELosses> one_after_the_other(const nn::MoE& moe, const Tensor& x,
                                                     const Tensor& selection) {
  const Tensor tokens = reshape(x, {-1, x.shape(-1)});
  const int64_t count = tokens.shape(0).number(), experts = moe.num_experts;
  const double capacity =
      moe.capacity_factor
          ? std::ceil(*moe.capacity_factor * static_cast<double>(count * moe.top_k) /
                          static_cast<double>(experts) -
                      1e-9)
          : std::numeric_limits<double>::infinity();
  const Tensor logits = moe.router(tokens), probabilities = softmax(logits, -1);
  std::vector<double> taken(static_cast<size_t>(experts));
  std::vector<Tensor> rows;
  const auto network = [&](const Tensor& token, const Tensor& up, const Tensor& gate,
                           const Tensor& down) {
    const Tensor inner = matmul(token, up);
    return matmul(gate ? silu(matmul(token, gate)) * inner : silu(inner), down);
  };
  for (int64_t i = 0; i < count; ++i) {
    const auto chosen = selected_by(selection[i], moe.top_k);
    Tensor scores = moe.softmax_first ? picked(probabilities[i], chosen)
                                      : softmax(picked(logits[i], chosen), -1);
    if (moe.normalize) scores = scores / sum(scores);
    Tensor row = zeros({x.shape(-1)}, DType::f64);
    for (size_t place = 0; place < chosen.size(); ++place) {
      const int64_t expert = chosen[place];
      if (++taken[static_cast<size_t>(expert)] > capacity) continue;
      row = row + scores[place] * network(tokens[i], moe.up[expert],
                                          moe.gate ? (*moe.gate)[expert] : Tensor(),
                                          moe.down[expert]);
    }
    if (moe.shared)
      row = row + std::visit([&](const auto& each) { return each(tokens[i]); }, *moe.shared);
    rows.push_back(row);
  }
  const Tensor counts = tensor(taken, {experts});
  const Tensor shares = counts / static_cast<double>(count);
  return {reshape(stack(rows), x.shape()),
          {.load_balancing = sum(shares * mean(probabilities, 0)) * experts,
           .router_z = mean(square(logsumexp(logits, -1))),
           .counts = astype(counts, DType::i64)}};
}

struct MixtureCall {
  std::pair<Tensor, nn::MoELosses> operator()(const nn::MoE& layer, const Tensor& x) const {
    return layer(x);
  }
};

void expect_a_loop(const nn::MoE& layer, const Tensor& x) {
  const Tensor selection = layer.router(reshape(x, {-1, x.shape(-1)}));
  const auto by_loop = [&](const nn::MoE& each, const Tensor& y) {
    return one_after_the_other(each, y, selection);
  };
  const auto found = layer(x), wanted = by_loop(layer, x);
  expect_close(floats_of(found), floats_of(wanted), "result", 1e-12);
  EXPECT_EQ(found.second.counts.text(), wanted.second.counts.text());
  const auto slopes = tensors_of(grad<0, 1>(Loss{by_loop})(layer, x));
  expect_close(tensors_of(grad<0, 1>(Loss{MixtureCall{}})(layer, x)), slopes, "gradient");
  expect_close(tensors_of(jit(grad<0, 1>(Loss{MixtureCall{}}))(layer, x)), slopes, "jitted");
}

TEST(Experts, AreThoseOfALoopOverTokens) {
  const Tensor x = drawn(5, {3, 4, 4});
  int number = 0;
  for (const int64_t k : {1, 2, 3}) {
    for (const bool is_gated : {true, false}) {
      for (const bool softmax_first : {true, false}) {
        for (const std::optional<double> capacity : {std::optional<double>(), {0.75}, {1.25}}) {
          const auto layer = nn::MoE::init(
              random::key(static_cast<uint64_t>(number)), 4, 6, 5,
              {.top_k = k,
               .is_gated = is_gated,
               .softmax_first = softmax_first,
               .normalize = number % 3 != 0 || !softmax_first,
               .shared_hidden = number % 2 == 0 ? std::optional<int64_t>(5) : std::nullopt,
               .capacity_factor = capacity,
               .dtype = DType::f64});
          SCOPED_TRACE(number);
          expect_a_loop(layer, x);
          ++number;
        }
      }
    }
  }
}

TEST(Experts, BalanceAndCapacity) {
  auto layer = nn::MoE::init(random::key(1), 4, 6, 4, {.dtype = DType::f64});
  layer.router.weight = zeros({4, 4}, DType::f64);
  EXPECT_NEAR(layer(drawn(2, {8, 4})).second.load_balancing.item<double>(), 2, 1e-12);
  const Tensor x = drawn(3, {7, 4}), key = random::key(4);
  const auto one = nn::MoE::init(key, 4, 6, 3, {.dtype = DType::f64});
  const auto full = nn::MoE::init(key, 4, 6, 3, {.capacity_factor = 1.5, .dtype = DType::f64});
  EXPECT_LT(greatest_difference(one(x).first, full(x).first), 1e-12);
  EXPECT_EQ(sum(one(x).second.counts).item<int64_t>(), 14);
}

TEST(Experts, NoTokenIsMultipliedByAllOfThem) {
  const auto layer = nn::MoE::init(random::key(1), 4, 6, 64, {.dtype = DType::f64});
  const std::string text =
      make_program([&](const Tensor& x) { return layer(x).first; })(drawn(2, {10, 4})).text();
  expect_contains(text, {"ragged_dot"});
  EXPECT_EQ(text.find("[64, 10, "), std::string::npos);
  EXPECT_EQ(text.find("[10, 64, "), std::string::npos);
}

TEST(Experts, NoiseIsOfTraining) {
  const Tensor x = drawn(2, {200, 4}), key = random::key(3);
  const auto layer =
      nn::MoE::init(random::key(1), 4, 6, 8, {.top_k = 1, .noise = 10, .dtype = DType::f64});
  const auto counts = [&](const nn::MoE& each, const Tensor& by) {
    return each(x, by).second.counts.text();
  };
  EXPECT_EQ(counts(layer, key), counts(layer, key));
  EXPECT_NE(counts(layer, {}), counts(layer, {}));
  EXPECT_EQ(counts(nn::eval(layer), {}), counts(nn::eval(layer), key));
}

TEST(Experts, NarrowNumbers) {
  const auto layer = nn::MoE::init(random::key(1), 4, 6, 3, {.dtype = DType::bf16});
  const auto [y, losses] = layer(ones({5, 4}, DType::bf16));
  EXPECT_EQ(y.dtype(), DType::bf16);
  EXPECT_EQ(losses.router_z.dtype(), DType::f32);
}

TEST(Experts, InAllWaysAndWithSymbolicSizes) {
  const Tensor x = drawn(2, {2, 3, 3});
  const std::vector<nn::MoEOptions> options{
      {.dtype = DType::f64},
      {.softmax_first = false, .shared_hidden = 3, .dtype = DType::f64},
      {.is_gated = false, .capacity_factor = 1.25, .dtype = DType::f64}};
  for (const nn::MoEOptions& each : options) {
    expect_all_ways([&](const Tensor& key) { return nn::MoE::init(key, 3, 4, 4, each); },
                    MixtureCall{}, x, 1e-10);
    expect_symbolic_sizes(nn::MoE::init(random::key(1), 3, 4, 4, each), MixtureCall{},
                          {x, drawn(3, {4, 5, 3}), drawn(4, {3, 7, 3}), drawn(5, {6, 2, 3})});
  }
}

TEST(Experts, BeginAsLinearsDo) {
  const auto layer = nn::MoE::init(random::key(1), 16, 64, 8);
  const auto expect_bound = [](const Tensor& weight, double inputs) {
    const double greatest = max(absolute(weight)).item<double>() * std::sqrt(inputs);
    EXPECT_LE(greatest, 1);
    EXPECT_GT(greatest, 0.99);
  };
  expect_bound(*layer.gate, 16);
  expect_bound(layer.up, 16);
  expect_bound(layer.down, 64);
  EXPECT_GT(greatest_difference(*layer.gate, layer.up), 0.1);
}

TEST(Experts, GatedMlp) {
  const auto layer = nn::GatedMlp::init(random::key(1), 3, 5, {.dtype = DType::f64});
  const Tensor x = drawn(2, {2, 3});
  const auto by = [](const Tensor& each, const nn::Linear& linear) {
    return matmul(each, matrix_transpose(linear.weight));
  };
  EXPECT_LT(
      greatest_difference(layer(x), by(silu(by(x, layer.gate)) * by(x, layer.up), layer.down)),
      1e-13);
  EXPECT_EQ(leaf_count(layer), 3);
  const auto names = nn::state(nn::MoE::init(random::key(1), 4, 6, 3, {.shared_hidden = 2}));
  EXPECT_TRUE(names.contains("shared.gate.weight"));
  EXPECT_EQ(names.at("down").type().text(), "f32[3, 6, 4]");
}

TEST(Experts, RefuseInvalidOptions) {
  const Tensor key = random::key(1);
  const auto refused = [&](int64_t hidden, int64_t experts, nn::MoEOptions options,
                           std::initializer_list<std::string_view> parts) {
    expect_contains(what_of<ValueError>([&] { nn::MoE::init(key, 4, hidden, experts, options); }),
                    parts);
  };
  refused(6, 3, {.top_k = 4},
          {"nn::MoE", "top_k is 4 of 3 experts, expected 1 to 3", "experts_test.cpp"});
  refused(6, 3, {.top_k = 0}, {"top_k is 0"});
  refused(6, 0, {}, {"of 0 experts"});
  refused(-6, 3, {}, {"hidden is -6, expected 0 or more"});
  refused(6, 3, {.shared_hidden = -1}, {"shared_hidden is -1"});
  refused(6, 3, {.noise = -1}, {"noise is -1"});
  refused(6, 3, {.capacity_factor = 0}, {"capacity_factor is 0, expected"});
}

}  // namespace
}  // namespace plait::sequence_ways
