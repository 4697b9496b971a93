// Layers: initial weights, tree structure, and errors. tests/oracles/models_oracle.py and
// tests/python/layers/nn_test.py compare their values with PyTorch.
#include <cmath>

#include <gtest/gtest.h>

#include "plait/plait.h"

#include "examples/models/gpt.h"
#include "examples/models/vit.h"
#include "tests/support/errors.h"

namespace plait::layers_tests {
namespace {

double deviation(const Tensor& x) { return std::sqrt(mean(square(x)).item<double>()); }
double greatest(const Tensor& x) { return max(absolute(x)).item<double>(); }

TEST(Layers, BeginAsPyTorchHasThem) {
  const Tensor key = random::key(3);
  const auto linear = nn::Linear::init(key, 400, 300);
  EXPECT_EQ(linear.weight.type().text(), "f32[300, 400]");
  EXPECT_EQ(linear.bias->type().text(), "f32[300]");
  EXPECT_LE(greatest(linear.weight), 0.05);  // 1/√400
  EXPECT_GT(greatest(linear.weight), 0.0499);
  EXPECT_NEAR(deviation(linear.weight), 0.05 / std::sqrt(3.), 2e-4);
  EXPECT_GT(greatest(*linear.bias), 0.045);
  EXPECT_LE(greatest(*linear.bias), 0.05);

  const auto convolution = nn::Conv2d::init(key, 8, 64, {5, 10}, {.groups = 2});
  EXPECT_EQ(convolution.weight.type().text(), "f32[64, 4, 5, 10]");
  EXPECT_LE(greatest(convolution.weight), 1 / std::sqrt(200.));
  EXPECT_GT(greatest(convolution.weight), 0.999 / std::sqrt(200.));

  const auto table = nn::Embedding::init(key, 200, 100, {.dtype = DType::f64});
  EXPECT_EQ(table.weight.type().text(), "f64[200, 100]");
  EXPECT_NEAR(deviation(table.weight), 1, 0.02);

  const auto norm = nn::LayerNorm::init({2, 3});
  EXPECT_EQ(norm.weight->text(), ones({2, 3}).text());
  EXPECT_EQ(norm.bias->text(), zeros({2, 3}).text());
  const std::vector<int64_t> none;
  EXPECT_THROW((void)nn::LayerNorm::init(none), ValueError);
  EXPECT_THROW((void)nn::RMSNorm::init(none), ValueError);
}

TEST(Layers, TheSameKeyGivesTheSameWeightsAndNoTwoTensorsAreAlike) {
  const models::GptSizes sizes{.vocabulary = 16, .context = 8, .width = 16, .depth = 2, .heads = 2};
  const auto a = tensors_of(models::Gpt::init(random::key(1), sizes));
  const auto b = tensors_of(models::Gpt::init(random::key(1), sizes));
  const auto c = tensors_of(models::Gpt::init(random::key(2), sizes));
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].text(), b[i].text());
  EXPECT_NE(a[0].text(), c[0].text());
  for (size_t i = 0; i < a.size(); ++i) {
    const bool is_drawn = greatest(a[i]) > 0 && greatest(a[i] - 1) > 0;
    for (size_t j = 0; is_drawn && j < i; ++j) EXPECT_NE(a[i].text(), a[j].text());
  }
}

TEST(Layers, FansAndVariances) {
  const Tensor key = random::key(5);
  const Shape shape{300, 10, 5, 2};
  EXPECT_EQ(nn::fans_of(shape).in, 100);
  EXPECT_EQ(nn::fans_of(shape).out, 3000);
  EXPECT_NEAR(deviation(nn::kaiming_normal(key, shape)), std::sqrt(2. / 100), 2e-3);
  EXPECT_NEAR(deviation(nn::kaiming_uniform(key, shape)), std::sqrt(2. / 100), 2e-3);
  EXPECT_NEAR(deviation(nn::kaiming_uniform(key, shape, std::sqrt(5.))), std::sqrt(1. / 300), 1e-3);
  EXPECT_NEAR(deviation(nn::xavier_normal(key, shape)), std::sqrt(2. / 3100), 5e-4);
  EXPECT_NEAR(deviation(nn::xavier_uniform(key, shape, 2)), 2 * std::sqrt(2. / 3100), 1e-3);
  EXPECT_EQ(greatest(nn::uniform(key, {2, 2}, 0)), 0);
  EXPECT_EQ(nn::kaiming_uniform(key, {3, 0}).type().text(), "f32[3, 0]");
}

TEST(Layers, AreTreesWhoseTensorsHaveNames) {
  const auto model = models::Vit::init(
      random::key(1), {.image = 8, .patch = 4, .width = 4, .depth = 1, .heads = 2, .labels = 3});
  const std::vector<std::string> expected{"patches.weight",
                                          "patches.bias",
                                          "class_token",
                                          "positions",
                                          "blocks.0.norm1.weight",
                                          "blocks.0.norm1.bias",
                                          "blocks.0.norm2.weight",
                                          "blocks.0.norm2.bias",
                                          "blocks.0.attention.qkv.weight",
                                          "blocks.0.attention.qkv.bias",
                                          "blocks.0.attention.out.weight",
                                          "blocks.0.attention.out.bias",
                                          "blocks.0.mlp.up.weight",
                                          "blocks.0.mlp.up.bias",
                                          "blocks.0.mlp.down.weight",
                                          "blocks.0.mlp.down.bias",
                                          "norm.weight",
                                          "norm.bias",
                                          "head.weight",
                                          "head.bias"};
  EXPECT_EQ(leaf_paths(model), expected);
  auto other = model;
  other.blocks[0].attention.heads = 1;  // static, so it needs another record
  EXPECT_NE(key_of(model), key_of(other));
  EXPECT_EQ(key_of(model), key_of(map_leaves(model, zeros_like)));
}

TEST(Layers, WithoutBiasAndWeight) {
  const Tensor key = random::key(1), x = random::normal(random::key(2), {5, 4});
  const auto linear = nn::Linear::init(key, 4, 3, {.bias = false});
  EXPECT_EQ(leaf_count(linear), 1);
  EXPECT_EQ(linear(x).text(), matmul(x, matrix_transpose(linear.weight)).text());
  const auto norm = nn::LayerNorm::init(4, {.weight = false});
  EXPECT_EQ(leaf_count(norm), 0);
  EXPECT_EQ(norm(x).text(), layer_norm(x, {4}).text());
  EXPECT_EQ(leaf_count(nn::LayerNorm::init(4, {.bias = false})), 1);
  EXPECT_EQ(leaf_count(nn::Attention::init(key, 4, 2, {.bias = false})), 2);
}

TEST(Layers, AttentionTakesAnyNumberOfDimensionsAndAMask) {
  const auto attention = nn::Attention::init(random::key(1), 6, 3);
  const Tensor x = random::normal(random::key(2), {2, 4, 5, 6});
  const Tensor whole = attention(x);
  EXPECT_EQ(whole.shape(), x.shape());
  EXPECT_LT(greatest(whole[{1, 2}] - attention(x[{1, 2}])), 1e-6);
  auto causal = attention;
  causal.is_causal = true;
  const Tensor below = less_equal(expand_dims(arange(5), 0), expand_dims(arange(5), 1));
  EXPECT_LT(greatest(causal(x) - attention(x, below)), 1e-6);
  EXPECT_GT(greatest(causal(x) - whole), 1e-3);
}

TEST(Layers, OneRecordServesEveryLengthAndBatch) {
  const auto model = models::Gpt::init(
      random::key(1), {.vocabulary = 11, .context = 12, .width = 8, .depth = 1, .heads = 2});
  const auto run = jit([](const models::Gpt& gpt, const Tensor& ids) { return gpt(ids); });
  for (const auto& [batch, length] : {std::pair{2, 3}, {3, 5}, {1, 12}, {4, 1}}) {
    const Tensor ids = random::randint(random::key(length), {batch, length}, 0, 11);
    EXPECT_LT(greatest(run(model, ids) - model(ids)), 1e-5);
  }
  EXPECT_LE(run.stats().traces, 2);
}

TEST(Layers, CrossEntropyIsAlongTheAxisAndInF32) {
  const Tensor logits = random::normal(random::key(1), {2, 3, 5});
  const Tensor target = random::randint(random::key(2), {2, 3}, 0, 5);
  const Tensor flat = cross_entropy(reshape(logits, {6, 5}), reshape(target, {6}));
  const CrossEntropyOptions last{.axis = -1};
  EXPECT_EQ(nn::cross_entropy(logits, target, last).text(), flat.text());
  EXPECT_EQ(nn::cross_entropy(reshape(logits, {6, 5}), reshape(target, {6})).text(), flat.text());
  EXPECT_EQ(nn::cross_entropy(astype(logits, DType::bf16), target, last).dtype(), DType::f32);
  EXPECT_EQ(nn::cross_entropy(astype(logits, DType::f64), target, last).dtype(), DType::f64);
  EXPECT_EQ(nn::cross_entropy(logits, target, {.axis = -1, .reduction = Reduction::none}).shape(),
            target.shape());
  EXPECT_THROW(nn::cross_entropy(logits, target), ValueError);
}

TEST(Layers, AreDrawnWithOneKey) {
  const Tensor keys = random::split_key(random::key(1), 8);
  const auto refused = [](auto work) {
    expect_contains(what_of<ShapeError>(work), {"expected one key, not key[8]", "vmap"});
  };
  refused([&] { nn::Linear::init(keys, 3, 4); });
  refused([&] { nn::Conv1d::init(keys, 3, 4, 3); });
  refused([&] { nn::Embedding::init(keys, 3, 4); });
  refused([&] { nn::LSTM::init(keys, 3, 4); });
  refused([&] { nn::MultiheadAttention::init(keys, 4, 2); });
  refused([&] { nn::Attention::init(keys, 4, 2); });
  refused([&] { nn::uniform(keys, {3}, 1); });
  refused([&] { nn::trunc_normal(keys, {3}); });
  refused([&] { nn::orthogonal(keys, {3, 3}); });
  const auto layers = vmap([](const Tensor& key) { return nn::Linear::init(key, 3, 4); })(keys);
  EXPECT_EQ(layers.weight.type().text(), "f32[8, 4, 3]");
}

TEST(Layers, RefuseInvalidOptions) {
  const Tensor key = random::key(1);
  expect_contains(what_of<ValueError>([&] { nn::Linear::init(key, -1, 3); }), {"-1"});
  expect_contains(what_of<ValueError>([&] { nn::Attention::init(key, 10, 3); }),
                  {"3 heads of a width of 10"});
  expect_contains(what_of<ValueError>([&] { nn::Attention::init(key, 10, 0); }), {"0 heads"});
  expect_contains(what_of<ValueError>([&] { nn::Conv2d::init(key, 6, 4, 3, {.groups = 4}); }),
                  {"in 4 groups"});
  expect_contains(what_of<ValueError>([&] { nn::Conv2d::init(key, 6, 4, 0); }), {"window"});
  expect_contains(what_of<ValueError>([&] { nn::LayerNorm::init(3, {.eps = -1}); }), {"eps is -1"});
  expect_contains(what_of<ShapeError>([&] { nn::kaiming_uniform(key, {3}); }), {"two dimensions"});
  expect_contains(what_of<ValueError>([&] { nn::uniform(key, {3}, -1); }), {"bound is -1"});
  expect_contains(what_of<ShapeError>([&] { nn::Linear::init(key, 4, 3)(ones({2, 5})); }),
                  {"linear"});
  expect_contains(what_of<ShapeError>([&] { nn::Attention::init(key, 4, 2)(ones({2, 5})); }),
                  {"Attention"});
}

}  // namespace
}  // namespace plait::layers_tests
