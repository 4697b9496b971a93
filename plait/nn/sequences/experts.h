// Mixtures of experts.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "plait/nn/layers/linear_layers.h"
#include "plait/nn/sequences/transformer.h"
#include "plait/ops/neural/activation.h"

namespace plait::nn {

struct GatedMlpOptions {
  Activation activation = silu;
  bool bias = false;
  DType dtype = DType::f32;
};
// down(activation(gate(x)) · up(x)): with silu the SwiGLU of Llama.
struct GatedMlp {
  Linear gate, up;  // width to hidden
  Linear down;      // hidden to width
  Activation activation = silu;

  static GatedMlp init(const Tensor& key, int64_t width, int64_t hidden,
                       const GatedMlpOptions& options = {});
  Tensor operator()(const Tensor& x) const;
};

// Returned by a mixture of experts for training, besides its output.
struct MoELosses {
  // num_experts · Σ over experts of the share of tokens that go to it · its mean probability: top_k
  // if all are equal.
  Tensor load_balancing;
  Tensor router_z;  // the mean of logsumexp(logits)²
  Tensor counts;    // i64[num_experts]: the number of tokens of each expert
};

struct MoEOptions {
  int64_t top_k = 2;
  Activation activation = silu;
  bool is_gated = true;
  bool softmax_first = true;  // over all experts before the selection; else over those selected
  bool normalize = true;      // the weights sum to 1
  double noise = 0;  // deviation of normal numbers that are added to the logits, in training
  std::optional<int64_t> shared_hidden = {};  // width of an expert that is added for all tokens
  // An expert takes at most ⌈capacity_factor · tokens · top_k / num_experts⌉ tokens, the first
  // ones; it adds nothing to the others.
  std::optional<double> capacity_factor = {};
  DType dtype = DType::f32;
};
// A mixture of experts over x [..., features]: a router selects top_k of num_experts networks for
// each token, and adds their outputs, weighted. Each token is multiplied by the matrices of its
// experts only.
//
//   const auto layer = nn::MoE::init(random::key(1), 8, 16, 4, {.top_k = 2});
//   const auto [y, losses] = layer(x);
struct MoE {
  Linear router;
  std::optional<Tensor> gate;  // [num_experts, features, hidden]
  Tensor up;                   // [num_experts, features, hidden]
  Tensor down;                 // [num_experts, hidden, features]
  std::optional<std::variant<GatedMlp, Mlp>> shared;
  int64_t num_experts = 1, top_k = 1;
  Activation activation = silu;
  bool softmax_first = true, normalize = true;
  double noise = 0;
  std::optional<double> capacity_factor = {};
  bool training = true;

  static MoE init(const Tensor& key, int64_t features, int64_t hidden, int64_t num_experts,
                  const MoEOptions& options = {});
  // The key is that of the noise; by default the next one of the default stream.
  std::pair<Tensor, MoELosses> operator()(const Tensor& x, const Tensor& key = {}) const;
};

}  // namespace plait::nn
