// Refusals of activation.h and softmax.h.
#include <cmath>

#include <gtest/gtest.h>

#include "plait/ops/neural/activation.h"
#include "plait/ops/neural/softmax.h"

#include "refusals.h"

namespace plait {
namespace {

using Activation = std::function<void(const Tensor&)>;
const std::vector<Named<Activation>> kActivations = {
    {"relu", [](const Tensor& x) { relu(x); }},
    {"leaky_relu", [](const Tensor& x) { leaky_relu(x); }},
    {"rrelu", [](const Tensor& x) { rrelu(x); }},
    {"rrelu", [](const Tensor& x) { rrelu(x, 0, 1, true); }},
    {"gumbel_softmax", [](const Tensor& x) { gumbel_softmax(x); }},
    {"prelu", [](const Tensor& x) { prelu(x, f32(1)); }},
    {"elu", [](const Tensor& x) { elu(x); }},
    {"selu", [](const Tensor& x) { selu(x); }},
    {"celu", [](const Tensor& x) { celu(x); }},
    {"gelu", [](const Tensor& x) { gelu(x); }},
    {"gelu", [](const Tensor& x) { gelu(x, Gelu::tanh); }},
    {"silu", [](const Tensor& x) { silu(x); }},
    {"mish", [](const Tensor& x) { mish(x); }},
    {"softplus", [](const Tensor& x) { softplus(x); }},
    {"softsign", [](const Tensor& x) { softsign(x); }},
    {"logsigmoid", [](const Tensor& x) { logsigmoid(x); }},
    {"hardtanh", [](const Tensor& x) { hardtanh(x); }},
    {"relu6", [](const Tensor& x) { relu6(x); }},
    {"hardsigmoid", [](const Tensor& x) { hardsigmoid(x); }},
    {"hardswish", [](const Tensor& x) { hardswish(x); }},
    {"hardshrink", [](const Tensor& x) { hardshrink(x); }},
    {"softshrink", [](const Tensor& x) { softshrink(x); }},
    {"tanhshrink", [](const Tensor& x) { tanhshrink(x); }},
    {"threshold", [](const Tensor& x) { threshold(x, 0, 0); }},
    {"glu", [](const Tensor& x) { glu(x); }},
    {"softmax", [](const Tensor& x) { softmax(x); }},
    {"softmin", [](const Tensor& x) { softmin(x); }},
    {"log_softmax", [](const Tensor& x) { log_softmax(x); }},
    {"masked_softmax", [](const Tensor& x) { masked_softmax(x); }},
    {"standardize", [](const Tensor& x) { standardize(x, 1e-5); }},
};

using AlongAxis = Tensor (*)(const Tensor&, int64_t);
const std::vector<Named<AlongAxis>> kAlongAxis = {{"glu", glu},
                                                  {"softmax", softmax},
                                                  {"softmin", softmin},
                                                  {"log_softmax", log_softmax},
                                                  {"masked_softmax", masked_softmax}};

}  // namespace

Refusals refusals_of_activation() {
  Refusals rows = {
      {"leaky_relu", [] { leaky_relu(f32(2), NAN); }, kValue, {"slope", "f32[2]"}},
      {"rrelu", [] { rrelu(f32(2), .5, .25); }, kValue, {"0.5", "0.25", "f32[2]"}},
      {"rrelu", [] { rrelu(f32(2), NAN); }, kValue, {"nan", "f32[2]"}},
      {"rrelu", [] { rrelu(f32(2), 0, INFINITY); }, kValue, {"inf", "f32[2]"}},
      {"rrelu", [] { rrelu(f32(2), 0, 1, true, keys(2)); }, kShape, {"key[2]", "f32[2]"}},
      {"rrelu", [] { rrelu(f32(2), 0, 1, true, f32()); }, kType, {"f32[]", "f32[2]"}},
      {"gumbel_softmax", [] { gumbel_softmax(f32(2), 0); }, kValue, {"tau is 0", "f32[2]"}},
      {"gumbel_softmax", [] { gumbel_softmax(f32(2), NAN); }, kValue, {"tau is nan", "f32[2]"}},
      {"gumbel_softmax", [] { gumbel_softmax(f32(2), 1, false, 1); }, kIndex, {"axis 1", "f32[2]"}},
      {"gumbel_softmax",
       [] { gumbel_softmax(f32(2), 1, true, -1, keys(2)); },
       kShape,
       {"key[2]", "f32[2]"}},
      {"gumbel_softmax", [] { gumbel_softmax(f32(2), 1, true, -1, f32()); }, kType, {"f32[]"}},
      {"prelu", [] { prelu(f32(2, 3), f32(2)); }, kShape, {"f32[2, 3]", "f32[2]"}},
      {"prelu", [] { prelu(f32(2, 3), f32(2, 3)); }, kShape, {"f32[2, 3]"}},
      {"prelu", [] { prelu(f32(2, 3), c64(3)); }, kType, {"f32[2, 3]", "c64[3]"}},
      {"elu", [] { elu(f32(2), NAN); }, kValue, {"alpha", "f32[2]"}},
      {"celu", [] { celu(f32(2), 0); }, kValue, {"alpha", "0", "f32[2]"}},
      {"celu", [] { celu(f32(2), NAN); }, kValue, {"alpha", "f32[2]"}},
      {"softplus", [] { softplus(f32(2), 0); }, kValue, {"beta", "0", "f32[2]"}},
      {"softplus", [] { softplus(f32(2), NAN); }, kValue, {"beta", "f32[2]"}},
      {"hardtanh", [] { hardtanh(f32(2), 1, -1); }, kValue, {"1", "-1", "f32[2]"}},
      {"hardtanh", [] { hardtanh(f32(2), NAN, 1); }, kValue, {"nan", "f32[2]"}},
      {"hardshrink", [] { hardshrink(f32(2), NAN); }, kValue, {"lambda", "f32[2]"}},
      {"softshrink", [] { softshrink(f32(2), NAN); }, kValue, {"lambda", "f32[2]"}},
      {"softshrink", [] { softshrink(f32(2), -1); }, kValue, {"lambda", "-1", "f32[2]"}},
      {"threshold", [] { threshold(f32(2), NAN, 0); }, kValue, {"nan", "f32[2]"}},
      {"glu", [] { glu(f32(3)); }, kShape, {"f32[3]"}},
      {"standardize", [] { standardize(f32(), 1e-5); }, kShape, {"f32[]"}},
      {"standardize", [] { standardize(f32(2), NAN); }, kValue, {"eps", "f32[2]"}},
      {"standardize", [] { standardize(f32(2), -1); }, kValue, {"eps", "-1", "f32[2]"}},
      {"standardize", [] { standardize(i64(2), 1e-5); }, kType, {"i64[2]"}},
  };
  for (const auto& [name, f] : kActivations) {
    rows.push_back({name, [f] { f(keys(2)); }, kType, {"key[2]"}});
    rows.push_back({name, [f] { f(Tensor()); }, kValue, {"never given"}});
    // The others are defined for complex numbers too.
    const std::string_view given = name;
    if (given == "glu" || given == "softsign" || given.ends_with("shrink")) continue;
    rows.push_back({name, [f] { f(c64(2)); }, kType, {"c64[2]"}});
  }
  for (const auto& [name, f] : kAlongAxis) {
    rows.push_back({name, [f] { f(f32(2, 2), 2); }, kIndex, {"axis 2", "f32[2, 2]"}});
    rows.push_back({name, [f] { f(f32(2, 2), -3); }, kIndex, {"axis -3", "f32[2, 2]"}});
    rows.push_back({name, [f] { f(f32(), -1); }, kIndex, {"axis -1", "f32[]"}});
  }
  return rows;
}

TEST(Refusals, Activation) { expect_refused(refusals_of_activation()); }

}  // namespace plait
