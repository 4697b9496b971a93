// Layers around others: adapters, quantized layers, and computed weights.
// tests/oracles/layer_cases_adapted.cpp compares values and gradients with PyTorch's.
#include "plait/nn/models/adapters.h"

#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/nn/models/by_path.h"
#include "plait/nn/models/parametrizations.h"
#include "plait/nn/models/quantized.h"
#include "plait/plait.h"

#include "tests/support/errors.h"

namespace plait::adapters_tests {
namespace {

using Paths = std::vector<std::string>;

const Tensor kKey = random::key(3);

Tensor draw(uint64_t seed, const Shape& shape) { return random::normal(random::key(seed), shape); }
double greatest(const Tensor& x) { return max(absolute(x)).item<double>(); }
double difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  return greatest(a - b);
}
Paths names_in(const auto& model) {
  Paths names;
  for (const auto& [name, tensor] : nn::state(model)) names.push_back(name);
  return names;
}

// ---- Adapters.

TEST(Adapters, BeginAsTheirBase) {
  const auto linear = nn::Linear::init(kKey, 6, 4);
  const auto layer = nn::LoRALinear::from_layer(random::key(4), linear, {.rank = 2, .dropout = 1});
  EXPECT_EQ(leaf_paths(layer), (Paths{"base.weight", "base.bias", "lora_A", "lora_B"}));
  const Tensor x = draw(1, {3, 6});
  EXPECT_EQ(difference(layer(x, kKey), linear(x)), 0);
  EXPECT_LE(greatest(layer.lora_A), 1 / std::sqrt(6.));
  EXPECT_GT(greatest(layer.lora_A), 0.5 / std::sqrt(6.));
}

TEST(Adapters, TrainOnlyTheProductAndMerge) {
  auto layer = nn::LoRALinear::from_layer(random::key(4), nn::Linear::init(kKey, 6, 4),
                                          {.rank = 2, .alpha = 5});
  layer.lora_B = draw(5, {4, 2});
  const Tensor x = draw(1, {3, 6});
  const auto slope = grad([&](const nn::LoRALinear& at) { return sum(at(x)); })(layer);
  EXPECT_TRUE(!slope.base.weight || greatest(slope.base.weight) == 0);
  EXPECT_GT(greatest(slope.lora_A), 0);
  EXPECT_GT(greatest(slope.lora_B), 0);
  const nn::Linear merged = layer.merged();
  EXPECT_LT(difference(merged.weight, layer.base.weight + matmul(layer.lora_B, layer.lora_A) * 2.5),
            1e-6);
  EXPECT_LT(difference(merged(x), layer(x)), 1e-5);
  EXPECT_GT(difference(merged(x), layer.base(x)), 0.01);
  const auto whole = grad([&](const nn::Linear& at) { return sum(at(x)); })(merged);
  EXPECT_GT(greatest(whole.weight), 0);
}

TEST(Adapters, DropInputsInTraining) {
  auto layer = nn::LoRALinear::from_layer(random::key(4), nn::Linear::init(kKey, 6, 4),
                                          {.rank = 2, .dropout = 0.5});
  layer.lora_B = draw(5, {4, 2});
  const Tensor x = draw(1, {3, 6});
  const Tensor inner = matmul(dropout(x, 0.5, kKey), matrix_transpose(layer.lora_A));
  const Tensor wanted = layer.base(x) + matmul(inner, matrix_transpose(layer.lora_B));
  EXPECT_LT(difference(layer(x, kKey), wanted), 1e-5);
  EXPECT_GT(difference(layer(x), nn::eval(layer)(x)), 1e-3);
  EXPECT_LT(difference(nn::eval(layer)(x, kKey), layer.merged()(x)), 1e-5);
}

TEST(Adapters, OfQuantizedLayers) {
  const auto base = nn::QuantizedLinear::init(kKey, 8, 4, {.bits = 4});
  auto layer = nn::LoRAQuantizedLinear::from_layer(random::key(4), base, {.rank = 2});
  EXPECT_EQ(leaf_paths(layer), (Paths{"base.codes", "base.scales", "base.zero_points", "base.bias",
                                      "lora_A", "lora_B"}));
  layer.lora_B = draw(5, {4, 2});
  const Tensor x = draw(1, {3, 8});
  EXPECT_LT(difference(layer.merged()(x), layer(x)), 1e-5);
  using Layer = nn::LoRAQuantizedLinear;
  using SGD = optim::SGD<Layer>;
  const auto step = jit([](const Layer& model, const SGD& sgd, const Tensor& of) {
    const auto slopes =
        grad([](const Layer& at, const Tensor& to) { return sum(at(to)); })(model, of);
    return sgd.update(model, slopes);
  });
  const auto [next, sgd] = step(layer, SGD(layer, {.lr = 0.1}), x);
  EXPECT_EQ(difference(next.base.scales, layer.base.scales), 0);
  EXPECT_EQ(difference(*next.base.bias, *layer.base.bias), 0);
  EXPECT_GT(difference(next.lora_A, layer.lora_A), 1e-3);
  EXPECT_GT(difference(next.lora_B, layer.lora_B), 1e-3);
}

TEST(Adapters, RefuseWhatCannotBe) {
  const auto linear = nn::Linear::init(kKey, 6, 4);
  expect_contains(
      what_of<ValueError>([&] { nn::LoRALinear::from_layer(kKey, linear, {.rank = 0}); }),
      {"nn::LoRA", "rank is 0", "adapters_test.cpp"});
  expect_contains(
      what_of<ValueError>([&] { nn::LoRALinear::from_layer(kKey, linear, {.dropout = 2}); }),
      {"dropout is 2"});
}

// ---- Quantized layers.

TEST(Quantized, TheErrorIsHalfAScale) {
  for (const int64_t bits : {8, 4}) {
    for (const std::optional<int64_t> group :
         {std::optional<int64_t>(), std::optional<int64_t>(5)}) {
      const Tensor weight = draw(1, {7, 15}) + 0.3;
      const auto matrix = nn::QuantizedMatrix::of(weight, {.bits = bits, .group_size = group});
      const int64_t groups = group ? 3 : 1;
      EXPECT_EQ(matrix.scales.shape(), (Shape{7, groups}));
      EXPECT_EQ(matrix.codes.type().text(), bits == 8 ? "i8[7, 15]" : "u8[7, 8]");
      const Tensor error = absolute(reshape(matrix.weight() - weight, {7, groups, 15 / groups}));
      EXPECT_LE(greatest(max(error, -1) / matrix.scales), 0.501 + 0.5);
      EXPECT_GT(greatest(max(error, -1) / matrix.scales), 0.4);
      // A scale spreads the range of a group, with 0, over all codes.
      const Tensor parts = reshape(weight, {7, groups, 15 / groups});
      const Tensor range = maximum(max(parts, -1), 0) - minimum(min(parts, -1), 0);
      EXPECT_LT(difference(matrix.scales * (bits == 8 ? 255 : 15), range), 1e-5);
    }
  }
}

TEST(Quantized, WholeCodesAreExact) {
  // The numbers are multiples of the scale, 1.
  const Tensor weight = tensor(std::vector<float>{-5, 0, 3, 10, 7, -5, 1, 2, 10, 0}, {2, 5});
  const auto matrix = nn::QuantizedMatrix::of(weight, {.bits = 4});
  EXPECT_EQ(matrix.weight().text(), weight.text());
  const Tensor codes = tensor(std::vector<uint8_t>{0x50, 0xf8, 0x0c, 0x60, 0xf7, 0x05}, {2, 3});
  EXPECT_EQ(greatest(astype(matrix.codes, DType::i64) - astype(codes, DType::i64)), 0);
}

TEST(Quantized, ZeroStaysZeroAndRowsOfOneNumberAreExact) {
  const Tensor weight = tensor(std::vector<float>{0, 0, 0, 0.5, 0.5, 0.5, -2, 0, 3}, {3, 3});
  for (const int64_t bits : {8, 4}) {
    const Tensor found = nn::QuantizedMatrix::of(weight, {.bits = bits}).weight();
    EXPECT_EQ(greatest(where(weight == 0, found, 0)), 0);
    EXPECT_LT(difference(found[1], weight[1]), 1e-6);
  }
}

TEST(Quantized, LayersComputeWithTheirWeight) {
  const auto linear = nn::Linear::init(kKey, 15, 7);
  const Tensor x = draw(2, {4, 15});
  for (const int64_t bits : {8, 4}) {
    const auto layer = nn::QuantizedLinear::from_linear(linear, {.bits = bits, .group_size = 3});
    EXPECT_EQ(leaf_paths(layer), (Paths{"codes", "scales", "zero_points", "bias"}));
    EXPECT_LT(difference(layer(x), plait::linear(x, layer.weight(), *linear.bias)), 1e-6);
    EXPECT_LT(difference(layer.dequantized().weight, layer.weight()), 1e-7);
    EXPECT_LT(difference(layer(x), linear(x)), bits == 8 ? 0.01 : 0.2);
    const auto run = jit([](const nn::QuantizedLinear& of, const Tensor& at) { return of(at); });
    EXPECT_LT(difference(run(layer, x), layer(x)), 1e-5);
    EXPECT_EQ(leaf_count(nn::QuantizedLinear::init(kKey, 4, 3, {.bias = false, .bits = bits})), 3);
  }
}

TEST(Quantized, EmbeddingsComputeTheRowsThatTheyLookUp) {
  const nn::Embedding table{.weight = draw(1, {10, 5})};
  const Tensor ids = tensor(std::vector<int64_t>{1, 9, 0, 1, 3, 3}, {2, 3});
  for (const int64_t bits : {8, 4}) {
    const auto layer = nn::QuantizedEmbedding::from_embedding(table, {.bits = bits});
    EXPECT_EQ(difference(layer(ids), take(layer.weight(), ids, 0)), 0);
    EXPECT_LT(difference(layer(ids), table(ids)), bits == 8 ? 0.02 : 0.3);
    const auto program = trace([&](const Tensor& at) { return layer(at); })(ids).program;
    EXPECT_FALSE(ir::any_instruction(program, [](const ir::Instruction& instruction) {
      const ir::Type& type = instruction.result_types()[0];
      return type.is_array() && type.rank() > 0 && same(type.shape()[0], Dim(10));
    }));
  }
  EXPECT_EQ(nn::QuantizedEmbedding::init(kKey, 6, 4)(zeros({}, DType::i64)).shape(), (Shape{4}));
}

TEST(Quantized, RefuseWhatCannotBe) {
  const auto linear = nn::Linear::init(kKey, 6, 4);
  expect_contains(
      what_of<ValueError>([&] { nn::QuantizedLinear::from_linear(linear, {.bits = 3}); }),
      {"nn::QuantizedLinear", "bits is 3", "adapters_test.cpp"});
  expect_contains(
      what_of<ValueError>([&] { nn::QuantizedLinear::from_linear(linear, {.group_size = 4}); }),
      {"groups of 4 of 6 columns"});
  expect_contains(what_of<ShapeError>([&] { nn::QuantizedMatrix::of(ones({3})); }), {"f32[3]"});
}

// ---- Computed weights.

TEST(ComputedWeights, HaveTheNamesOfPyTorch) {
  const auto normed = nn::weight_norm(nn::Linear::init(kKey, 6, 4));
  EXPECT_EQ(names_in(normed), (Paths{"bias", "parametrizations.weight.original0",
                                     "parametrizations.weight.original1"}));
  const auto spectral = nn::spectral_norm(kKey, nn::Linear::init(kKey, 6, 4));
  EXPECT_EQ(names_in(spectral),
            (Paths{"bias", "parametrizations.weight.0._u", "parametrizations.weight.0._v",
                   "parametrizations.weight.original"}));
}

TEST(ComputedWeights, BeginAsTheLayerAndAreRemoved) {
  const auto linear = nn::Linear::init(kKey, 6, 4);
  const auto layer = nn::weight_norm(linear);
  const Tensor x = draw(1, {3, 6});
  EXPECT_LT(difference(layer(x), linear(x)), 1e-6);
  const nn::Linear removed = nn::remove_parametrizations(layer);
  EXPECT_EQ(leaf_paths(removed), (Paths{"weight", "bias"}));
  EXPECT_LT(difference(removed.weight, linear.weight), 1e-6);
}

TEST(ComputedWeights, OfALayerWithAnOptionalWeight) {
  auto norm = nn::LayerNorm::init(5);
  norm.weight = draw(1, {5});
  const auto layer = nn::weight_norm(norm);
  const Tensor x = draw(2, {3, 5});
  EXPECT_LT(difference(layer(x), norm(x)), 1e-6);
  EXPECT_THROW((void)nn::weight_norm(nn::LayerNorm::init(5, {.weight = false})), ValueError);
  const auto spectral = nn::eval(nn::spectral_norm(kKey, norm));
  const auto wanted = *norm.weight / sqrt(sum(square(*norm.weight)));
  EXPECT_LT(difference(*nn::remove_parametrizations(spectral).weight, wanted), 1e-6);
}

TEST(ComputedWeights, TheSpectralNormIs1) {
  const auto linear = nn::Linear::init(kKey, 6, 4, {.dtype = DType::f64});
  auto layer = nn::spectral_norm(random::key(5), linear, {.n_power_iterations = 200});
  const Tensor weight = nn::remove_parametrizations(layer).weight;
  EXPECT_NEAR(linalg::svdvals(weight)[0].item<double>(), 1, 1e-9);
}

TEST(ComputedWeights, CallsImproveTheEstimateInTraining) {
  auto layer = nn::spectral_norm(random::key(5), nn::Linear::init(kKey, 60, 40));
  const auto u = [&]() -> Tensor { return layer.parametrizations.weight.vectors->u; };
  const Tensor x = draw(1, {3, 60}), before = u();
  auto copy = layer;
  const Tensor expected = copy(x);
  EXPECT_EQ(difference(u(), before), 0);
  EXPECT_EQ(difference(layer(x), expected), 0);
  EXPECT_GT(difference(u(), before), 0);
  EXPECT_FALSE(bool(layer.weight));
  auto still = nn::eval(layer);
  const Tensor after = u();
  const Tensor output = still(x);
  EXPECT_EQ(difference(still.parametrizations.weight.vectors->u, after), 0);
  EXPECT_EQ(difference(still(x), output), 0);
}

TEST(ComputedWeights, UnderTransforms) {
  using Layer = nn::SpectralNorm<nn::Linear>;
  const auto layer = nn::spectral_norm(random::key(5), nn::Linear::init(kKey, 6, 4));
  const Tensor x = draw(1, {3, 6});
  const auto loss = [](Layer model, const Tensor& at) {
    const Tensor value = sum(sin(model(at)));
    return std::pair{value, model};
  };
  const auto slope = value_and_grad(loss, with_aux);
  const auto [eager, gradient] = slope(layer, x);
  const auto [jitted, same] = jit(slope)(layer, x);
  const auto& moved = eager.second.parametrizations.weight;
  EXPECT_GT(difference(moved.vectors->u, layer.parametrizations.weight.vectors->u), 0);
  EXPECT_LT(difference(moved.vectors->u, jitted.second.parametrizations.weight.vectors->u), 1e-5);
  EXPECT_LT(
      difference(gradient.parametrizations.weight.original, same.parametrizations.weight.original),
      1e-5);
  EXPECT_GT(greatest(gradient.parametrizations.weight.original), 1e-3);
  const auto again =
      grad(remat([](Layer model, const Tensor& at) { return sum(sin(model(at))); }))(layer, x);
  EXPECT_LT(
      difference(gradient.parametrizations.weight.original, again.parametrizations.weight.original),
      1e-5);
}

TEST(ComputedWeights, AStackOfModels) {
  using Layer = nn::WeightNorm<nn::Linear>;
  const auto make = [](const Tensor& key) { return nn::weight_norm(nn::Linear::init(key, 6, 4)); };
  const Tensor keys = random::split_key(kKey, 3), x = draw(1, {5, 6});
  std::vector<Layer> models;
  for (int64_t i = 0; i < 3; ++i) models.push_back(make(keys[i]));
  Layer stacked = models[0];
  const auto stack_of = [&](const auto& part) {
    const Tensor parts[] = {part(models[0]), part(models[1]), part(models[2])};
    return stack(parts, 0);
  };
  stacked.bias = stack_of([](const Layer& each) { return *each.bias; });
  auto& weight = stacked.parametrizations.weight;
  weight.original0 =
      stack_of([](const Layer& each) { return each.parametrizations.weight.original0; });
  weight.original1 =
      stack_of([](const Layer& each) { return each.parametrizations.weight.original1; });
  const Tensor found = vmap([](const Layer& model, const Tensor& at) { return model(at); },
                            {.in = {0, none}})(stacked, x);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_LT(difference(found[i], models[static_cast<size_t>(i)](x)), 1e-5);
  }
}

TEST(ComputedWeights, OneOfYourOwn) {
  struct Positive {
    Tensor original;
    Tensor value() const { return exp(original); }
    Positive next() const { return *this; }
  };
  const auto layer = nn::parametrized(nn::Linear::init(kKey, 6, 4), Positive{zeros({4, 6})});
  EXPECT_EQ(names_in(layer), (Paths{"bias", "parametrizations.weight.original"}));
  const Tensor x = draw(1, {3, 6});
  EXPECT_LT(difference(layer(x), linear(x, ones({4, 6}), *layer.bias)), 1e-6);
}

// ---- Weights of a model, by their names.

using Net = nn::Sequential<nn::Linear, nn::BatchNorm, nn::Linear>;
Net net_of(const Tensor& key) {
  const Tensor keys = random::split_key(key, 2);
  return {nn::Linear::init(keys[0], 6, 5), nn::BatchNorm::init(5), nn::Linear::init(keys[1], 5, 4)};
}

TEST(ByPath, AdaptersOfAModelTrainTheirProductsAndMerge) {
  const Net net = net_of(kKey);
  auto model = nn::lora(random::key(4), net, {"0.weight", "2.weight"}, {.rank = 2, .alpha = 5});
  const Tensor x = draw(1, {8, 6});
  EXPECT_EQ(difference(nn::eval(model)(x), nn::eval(net)(x)), 0);  // lora_B is 0
  for (auto& [name, low] : model.parametrizations) low.lora_B = draw(5, low.lora_B.shape());
  EXPECT_GT(difference(model.parametrizations.at("0.weight").lora_A[{Slice{}, Slice{0, 5}}],
                       model.parametrizations.at("2.weight").lora_A),
            0.01);
  Net merged = net;
  auto& first = std::get<0>(merged);
  const auto& low = model.parametrizations.at("0.weight");
  first.weight = first.weight + matmul(low.lora_B, low.lora_A) * 2.5;
  EXPECT_LT(difference(std::get<0>(model.whole()).weight, first.weight), 1e-6);
  EXPECT_EQ(difference(nn::eval(model.whole())(x), nn::eval(model)(x)), 0);
  EXPECT_GT(difference(nn::eval(model)(x), nn::eval(net)(x)), 0.01);

  using Model = decltype(model);
  using SGD = optim::SGD<Model>;
  const auto step = jit([](Model model, const SGD& sgd, const Tensor& of) {
    const auto loss = [](Model at, const Tensor& to) {
      const Tensor value = sum(sin(at(to)));
      return std::pair{value, at};
    };
    const auto [both, slopes] = value_and_grad(loss, with_aux)(model, of);
    return sgd.update(both.second, slopes);
  });
  const Model next = step(model, SGD(model, {.lr = 0.1}), x).first;
  const auto& after = next.parametrizations.at("0.weight");
  EXPECT_EQ(difference(after.base, low.base), 0);
  EXPECT_GT(difference(after.lora_A, low.lora_A), 1e-4);
  EXPECT_GT(difference(after.lora_B, low.lora_B), 1e-4);
  // Biases are trained, and statistics follow the batch.
  EXPECT_GT(difference(*std::get<2>(next.rest).bias, *std::get<2>(net).bias), 1e-4);
  EXPECT_GT(greatest(*std::get<1>(next.rest).running_mean), 1e-3);
}

TEST(ByPath, QuantizedModels) {
  const Net net = nn::eval(net_of(kKey));
  const Tensor x = draw(1, {8, 6});
  const auto model = nn::quantize(net, {"0.weight", "2.weight"}, {.bits = 8});
  EXPECT_EQ(model.parametrizations.at("0.weight").codes.type().text(), "i8[5, 6]");
  EXPECT_LT(difference(model(x), net(x)), 0.05);
  EXPECT_GT(difference(model(x), net(x)), 0);
  const Tensor slope = grad([&](const Tensor& at) { return sum(model(at)); })(x);
  EXPECT_LT(difference(slope, grad([&](const Tensor& at) { return sum(net(at)); })(x)), 0.1);
}

TEST(ByPath, NormsOfAModel) {
  Net net = net_of(kKey);
  const Tensor x = draw(1, {8, 6});
  auto normed = nn::weight_norms(net, {"?.weight"});
  EXPECT_EQ(normed.parametrizations.at("2.weight").original0.shape(), (Shape{4, 1}));
  EXPECT_LT(difference(normed(x), net(x)), 1e-5);
  auto spectral = nn::spectral_norms(kKey, net, {"0.weight"}, {.n_power_iterations = 50});
  const Tensor before = spectral.parametrizations.at("0.weight").vectors->u;
  auto copy = spectral;
  const Tensor expected = copy(x);
  EXPECT_LT(difference(spectral(x), expected), 1e-6);
  EXPECT_GT(difference(spectral.parametrizations.at("0.weight").vectors->u, before), 0);
  const Tensor weight = std::get<0>(spectral.whole()).weight;
  EXPECT_NEAR(linalg::svdvals(weight)[0].item<double>(), 1, 1e-4);
}

// A stack of models that vmap makes, called by vmap, as each of them.
template <class Make>
void expect_stack(const Make& make) {
  const Tensor keys = random::split_key(kKey, 3), x = draw(1, {8, 6});
  const auto called = [](const auto& model, const Tensor& at) { return model(at); };
  const auto slope = grad([](const Tensor& at, const auto& model) { return sum(sin(model(at))); });
  const auto models = vmap(make)(keys);
  const Tensor found = vmap(called, {.in = {0, none}})(models, x);
  const Tensor slopes = vmap(slope, {.in = {none, 0}})(x, models);
  const Tensor again = vmap(remat(slope), {.in = {none, 0}})(x, models);
  for (int64_t i = 0; i < 3; ++i) {
    const auto model = make(keys[i]);
    EXPECT_LT(difference(found[i], model(x)), 1e-5);
    EXPECT_LT(difference(slopes[i], slope(x, model)), 1e-5);
    EXPECT_LT(difference(again[i], slopes[i]), 1e-5);
  }
}

TEST(ByPath, StacksOfModels) {
  expect_stack([](const Tensor& key) {
    return nn::eval(nn::lora(key, net_of(key), {"0.weight", "2.weight"}, {.rank = 2}));
  });
  expect_stack([](const Tensor& key) {
    return nn::eval(nn::spectral_norms(key, net_of(key), {"0.weight"}));
  });
  expect_stack([](const Tensor& key) {
    return nn::QuantizedLinear::init(key, 6, 4, {.bits = 4, .group_size = 3});
  });
  expect_stack([](const Tensor& key) {
    auto layer = nn::LoRALinear::from_layer(key, nn::Linear::init(key, 6, 4), {.rank = 2});
    layer.lora_B = random::normal(key, {4, 2});
    return layer;
  });
}

TEST(ByPath, RefuseWhatCannotBe) {
  const Net net = net_of(kKey);
  expect_contains(what_of<ValueError>([&] { return nn::lora(kKey, net, {"3.weight"}); }),
                  {"3.weight"});
  expect_contains(
      what_of<ValueError>([&] { return nn::lora(kKey, net, {"0.weight"}, {.dropout = 0.5}); }),
      {"dropout is 0.5", "nn::LoRALinear"});
  expect_contains(what_of<ShapeError>([&] { return nn::quantize(net, {"1.weight"}); }), {"f32[5]"});
}

TEST(ComputedWeights, RefuseWhatCannotBe) {
  const auto linear = nn::Linear::init(kKey, 6, 4);
  expect_contains(what_of<IndexError>([&] { return nn::weight_norm(linear, 2); }),
                  {"nn::weight_norm", "dim is 2", "adapters_test.cpp"});
  expect_contains(what_of<IndexError>([&] { return nn::spectral_norm(kKey, linear, {.dim = -3}); }),
                  {"nn::spectral_norm", "dim is -3"});
  expect_contains(what_of<ValueError>(
                      [&] { return nn::spectral_norm(kKey, linear, {.n_power_iterations = 0}); }),
                  {"n_power_iterations is 0"});
}

}  // namespace
}  // namespace plait::adapters_tests
