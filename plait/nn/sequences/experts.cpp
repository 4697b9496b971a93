#include "plait/nn/sequences/experts.h"

#include <algorithm>
#include <cmath>

#include "plait/core/error.h"
#include "plait/core/function_ref.h"
#include "plait/nn/initialization.h"
#include "plait/nn/inside/layer_parts.h"
#include "plait/nn/inside/sequence_parts.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/indexing/segment.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/scan.h"
#include "plait/ops/reductions/sort.h"
#include "plait/ops/reductions/statistics.h"

namespace plait::nn {
namespace {

void check_options(int64_t features, int64_t hidden, int64_t num_experts,
                   const MoEOptions& options) {
  if (options.top_k < 1 || options.top_k > num_experts) {
    throw ValueError("top_k is {} of {} experts, expected 1 to {}", options.top_k, num_experts,
                     num_experts);
  }
  expect_whole("features", features);
  expect_whole("hidden", hidden);
  expect_whole("shared_hidden", options.shared_hidden.value_or(0));
  expect_not_negative("noise", options.noise);
  if (options.capacity_factor && !(*options.capacity_factor > 0)) {
    throw ValueError("capacity_factor is {}, expected a number above 0", *options.capacity_factor);
  }
}

std::variant<GatedMlp, Mlp> shared_of(const Tensor& key, int64_t features, int64_t hidden,
                                      const MoEOptions& options) {
  if (options.is_gated) {
    return GatedMlp::init(key, features, hidden,
                          {.activation = options.activation, .dtype = options.dtype});
  }
  return Mlp::init(key, features, hidden,
                   {.activation = options.activation, .bias = false, .dtype = options.dtype});
}

// The matrices of all experts, as those of a Linear each.
Tensor stacked(const Tensor& key, int64_t num_experts, int64_t inputs, int64_t outputs,
               DType dtype) {
  const double bound = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(inputs, 1)));
  return uniform(key, {num_experts, inputs, outputs}, bound, dtype);
}

// The weights and the experts of each token, [tokens, top_k].
struct Routed {
  Tensor weights, experts;
  MoELosses losses;
};

Tensor logits_of(const MoE& moe, const Tensor& tokens, const Tensor& key) {
  Tensor logits = moe.router(tokens);
  if (logits.dtype() != DType::f64) logits = astype(logits, DType::f32);
  if (!moe.training || moe.noise == 0) return logits;
  const Tensor own = key ? key : random::draw_key();
  return logits + random::normal(own, logits.shape(), 0., 1., logits.dtype()) * moe.noise;
}

Routed routed(const MoE& moe, const Tensor& tokens, const Tensor& key) {
  const Tensor logits = logits_of(moe, tokens, key);
  const Tensor probabilities = softmax(logits, -1);
  auto [weights, experts] = topk(moe.softmax_first ? probabilities : logits, moe.top_k);
  if (!moe.softmax_first) {
    weights = softmax(weights, -1);
  } else if (moe.normalize) {
    weights = weights / sum(weights, -1, true);
  }
  const Tensor counts = sum(one_hot(flatten(experts), moe.num_experts, DType::i64), 0);
  const Tensor shares = astype(counts, logits.dtype()) / tokens.shape(0);
  return {.weights = weights,
          .experts = experts,
          .losses = {.load_balancing = sum(shares * mean(probabilities, 0)) * moe.num_experts,
                     .router_z = mean(square(logsumexp(logits, -1))),
                     .counts = counts}};
}

using Product = FunctionRef<Tensor(const Tensor& rows, const Tensor& matrices)>;

Tensor network(const MoE& moe, const Tensor& rows, Product product) {
  const Tensor inner = product(rows, moe.up);
  return product(
      moe.gate ? moe.activation(product(rows, *moe.gate)) * inner : moe.activation(inner),
      moe.down);
}

// The outputs for each token and selected expert, computed in the order of the experts.
Tensor in_groups(const MoE& moe, const Tensor& tokens, const Tensor& experts,
                 const Tensor& counts) {
  const Tensor order = argsort(experts);
  const Tensor rows = take(tokens, floor_divide(order, moe.top_k), 0);
  const auto product = [&](const Tensor& each, const Tensor& matrices) {
    return ragged_dot(each, matrices, counts);
  };
  return take(network(moe, rows, product), argsort(order), 0);
}

// The nearest fraction with a denominator up to 1000, so that ⌈factor · count⌉ is exact.
struct Fraction {
  int64_t numerator = 0, denominator = 1;
};
Fraction fraction_of(double number) {
  Fraction nearest;
  double distance = INFINITY;
  for (int64_t denominator = 1; denominator <= 1000; ++denominator) {
    const double numerator = std::round(number * static_cast<double>(denominator));
    const double apart = std::abs(number - numerator / static_cast<double>(denominator));
    if (apart >= distance) continue;
    distance = apart;
    nearest = {static_cast<int64_t>(numerator), denominator};
  }
  return nearest;
}

// The same with as many places for each expert as its capacity, and zeros for tokens without one.
Tensor within_capacity(const MoE& moe, const Tensor& tokens, const Tensor& experts) {
  const Fraction factor = fraction_of(*moe.capacity_factor);
  const int64_t share = factor.denominator * moe.num_experts;
  const Dim capacity =
      floor_div(tokens.shape(0) * (moe.top_k * factor.numerator) + (share - 1), share);
  const Tensor before = cumsum(one_hot(experts, moe.num_experts, DType::i64), 0);
  const Tensor place =
      squeeze(take_along_axis(before, expand_dims(experts, 1), 1), 1) - 1;  // within the expert
  const Dim count = capacity * moe.num_experts;
  // The slot behind the last one is for those without a place.
  const Tensor slots = where(less(place, capacity), experts * capacity + place, count);
  const Tensor rows = take(tokens, floor_divide(iota(experts.shape(0)), moe.top_k), 0);
  const Tensor placed = zeros({count + 1, rows.shape(1)}, rows.dtype()).at(slots).set(rows);
  const Tensor by_expert =
      reshape(slice_axis(placed, 0, 0, count), {moe.num_experts, capacity, rows.shape(1)});
  const auto product = [](const Tensor& each, const Tensor& matrices) {
    return matmul(each, matrices);
  };
  const Tensor outputs = network(moe, by_expert, product);
  return take(pad_zeros(reshape(outputs, {count, outputs.shape(-1)}), 0, 0, 1), slots, 0);
}

}  // namespace

GatedMlp GatedMlp::init(const Tensor& key, int64_t width, int64_t hidden,
                        const GatedMlpOptions& options) {
  const Call call("nn::GatedMlp");
  const Tensor keys = keys_of(key, 3);
  const LinearOptions linear{.bias = options.bias, .dtype = options.dtype};
  return {.gate = Linear::init(keys[0], width, hidden, linear),
          .up = Linear::init(keys[1], width, hidden, linear),
          .down = Linear::init(keys[2], hidden, width, linear),
          .activation = options.activation};
}

Tensor GatedMlp::operator()(const Tensor& x) const { return down(activation(gate(x)) * up(x)); }

MoE MoE::init(const Tensor& key, int64_t features, int64_t hidden, int64_t num_experts,
              const MoEOptions& options) {
  const Call call("nn::MoE");
  check_options(features, hidden, num_experts, options);
  const Tensor keys = keys_of(key, 5);
  MoE made{.router = Linear::init(keys[0], features, num_experts,
                                  {.bias = false, .dtype = options.dtype}),
           .gate = {},
           .up = stacked(keys[2], num_experts, features, hidden, options.dtype),
           .down = stacked(keys[3], num_experts, hidden, features, options.dtype),
           .shared = {},
           .num_experts = num_experts,
           .top_k = options.top_k,
           .activation = options.activation,
           .softmax_first = options.softmax_first,
           .normalize = options.normalize,
           .noise = options.noise,
           .capacity_factor = options.capacity_factor};
  if (options.is_gated) {
    made.gate = stacked(keys[1], num_experts, features, hidden, options.dtype);
  }
  if (options.shared_hidden) {
    made.shared = shared_of(keys[4], features, *options.shared_hidden, options);
  }
  return made;
}

std::pair<Tensor, MoELosses> MoE::operator()(const Tensor& x, const Tensor& key) const {
  const Call call("nn::MoE", x);
  const Dim features = x.shape(-1);
  const Tensor tokens = reshape(x, {-1, features});
  const auto [weights, experts, losses] = routed(*this, tokens, key);
  const Tensor flat = flatten(experts);
  const Tensor through = capacity_factor ? within_capacity(*this, tokens, flat)
                                         : in_groups(*this, tokens, flat, losses.counts);
  const Tensor outputs = reshape(through, {-1, top_k, features});
  Tensor y = sum(outputs * expand_dims(astype(weights, outputs.dtype()), -1), 1);
  if (shared) y = y + std::visit([&](const auto& each) { return each(tokens); }, *shared);
  return {reshape(y, x.shape()), losses};
}

}  // namespace plait::nn
