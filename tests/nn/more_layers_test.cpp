// Convolutions, pooling, norms with statistics, and containers: values of the operations that they
// call, statistics under transforms, names of tensors, and errors.
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "plait/plait.h"

#include "tests/support/errors.h"

namespace plait::more_layers_tests {
namespace {

const Tensor kKey = random::key(3);

double difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  return max(absolute(a - b)).item<double>();
}

TEST(MoreLayers, ConvolutionsOfEachRank) {
  const auto one = nn::Conv1d::init(kKey, 4, 6, 3, {.stride = 2, .padding = 1, .groups = 2});
  EXPECT_EQ(one.weight.type().text(), "f32[6, 2, 3]");
  EXPECT_EQ(one.bias->type().text(), "f32[6]");
  const Tensor line = random::normal(kKey, {2, 4, 9});
  const ConvolutionOptions options{.stride = 2, .padding = 1, .groups = 2};
  EXPECT_EQ(difference(one(line), conv1d(line, one.weight, *one.bias, options)), 0);

  const auto three =
      nn::Conv3d::init(kKey, 2, 3, {2, 3, 1}, {.dilation = {1, 2, 1}, .bias = false});
  const Tensor volume = random::normal(kKey, {1, 2, 4, 6, 3});
  EXPECT_EQ(difference(three(volume), conv3d(volume, three.weight, {}, {.dilation = {1, 2, 1}})),
            0);
  EXPECT_EQ(leaf_paths(three), std::vector<std::string>{"weight"});
  EXPECT_LE(max(absolute(three.weight)).item<double>(), 1 / std::sqrt(12.));
}

TEST(MoreLayers, ConvolutionsPadWithTheImage) {
  const Tensor image = random::normal(kKey, {2, 3, 5, 6});
  for (const PadMode mode : {PadMode::reflect, PadMode::edge, PadMode::wrap}) {
    const auto layer = nn::Conv2d::init(kKey, 3, 4, 3, {.padding = {2, 1}, .padding_mode = mode});
    const Tensor padded = pad(image, {{2, 2}, {1, 1}}, mode);
    EXPECT_EQ(difference(layer(image), conv2d(padded, layer.weight, *layer.bias)), 0);
  }
}

TEST(MoreLayers, TransposedConvolutions) {
  const auto layer = nn::ConvTranspose2d::init(
      kKey, 4, 6, {3, 2}, {.stride = 2, .padding = 1, .output_padding = {1, 0}, .groups = 2});
  EXPECT_EQ(layer.weight.type().text(), "f32[4, 3, 3, 2]");
  EXPECT_EQ(layer.bias->type().text(), "f32[6]");
  EXPECT_LE(max(absolute(layer.weight)).item<double>(), 1 / std::sqrt(18.));
  EXPECT_GT(max(absolute(layer.weight)).item<double>(), 0.8 / std::sqrt(18.));
  const Tensor image = random::normal(kKey, {2, 4, 5, 4});
  const Tensor expected =
      conv_transpose2d(image, layer.weight, *layer.bias,
                       {.stride = 2, .padding = 1, .output_padding = {1, 0}, .groups = 2});
  EXPECT_EQ(difference(layer(image), expected), 0);
  const auto line = nn::ConvTranspose1d::init(kKey, 2, 3, 3, {.bias = false, .dilation = 2});
  const Tensor x = random::normal(kKey, {2, 2, 5});
  EXPECT_EQ(difference(line(x), conv_transpose1d(x, line.weight, {}, {.dilation = 2})), 0);
}

TEST(MoreLayers, Pooling) {
  const Tensor x = random::normal(kKey, {2, 3, 7, 8});
  const nn::MaxPool2d maxima{{3}, {2, 1}, {1}, {1}, true};
  EXPECT_EQ(
      difference(maxima(x),
                 max_pool2d(x, 3, {.stride = PerDimension{2, 1}, .padding = 1, .ceil_mode = true})),
      0);
  const nn::AvgPool2d means{{2, 3}, {}, {1, 0}, false, false};
  EXPECT_EQ(
      difference(means(x), avg_pool2d(x, {2, 3}, {.padding = {1, 0}, .count_include_pad = false})),
      0);
  EXPECT_EQ(difference(nn::MaxPool1d{{2}}(x[0]), max_pool1d(x[0], 2)), 0);
  EXPECT_EQ(leaf_count(maxima), 0);
}

TEST(MoreLayers, BatchNormFollowsTheBatchesInTraining) {
  auto norm = nn::BatchNorm::init(3, {.momentum = 0.25, .dtype = DType::f64});
  const std::vector<std::string> paths{"weight", "bias", "running_mean", "running_var",
                                       "num_batches_tracked"};
  EXPECT_EQ(leaf_paths(norm), paths);
  const Tensor x = random::normal(kKey, {4, 3, 5}, 2., 3., DType::f64);
  EXPECT_LT(difference(norm(x), batch_norm(x).values), 1e-12);
  EXPECT_LT(difference(*norm.running_mean, mean(x, {0, 2}) * 0.25), 1e-12);
  EXPECT_EQ(norm.num_batches_tracked->item<int64_t>(), 1);
  const Tensor spread = var(x, {0, 2}, 1);
  EXPECT_LT(difference(*norm.running_var, 0.75 + spread * 0.25), 1e-12);
  // A layer that is not in training stays as it is.
  auto still = nn::eval(norm);
  const Tensor expected =
      (x - reshape(*norm.running_mean, {3, 1})) * rsqrt(reshape(*norm.running_var, {3, 1}) + 1e-5);
  EXPECT_LT(difference(still(x), expected), 1e-12);
  EXPECT_EQ(difference(*still.running_mean, *norm.running_mean), 0);
  auto own = nn::eval(nn::BatchNorm::init(3, {.affine = false, .track_running_stats = false}));
  EXPECT_EQ(leaf_count(own), 0);
  EXPECT_EQ(difference(own(x), batch_norm(x).values), 0);
}

TEST(MoreLayers, StatisticsAreAResultOfTransforms) {
  const auto loss = [](nn::BatchNorm norm, const Tensor& x) {
    const Tensor value = sum(sin(norm(x)));
    return std::pair{value, norm};
  };
  const auto begin = nn::BatchNorm::init(3, {.dtype = DType::f64});
  const Tensor x = random::normal(kKey, {4, 3}, 0., 1., DType::f64);
  auto expected = begin;
  expected(x);
  const auto slope = value_and_grad(loss, with_aux);
  const auto run = jit(slope);
  for (const auto& [result, gradient] : {slope(begin, x), run(begin, x)}) {
    const auto& moved = result.second;
    EXPECT_LT(difference(*moved.running_mean, *expected.running_mean), 1e-12);
    EXPECT_LT(difference(*moved.running_var, *expected.running_var), 1e-12);
    EXPECT_EQ(max(absolute(*gradient.running_mean)).item<double>(), 0);
    EXPECT_GT(max(absolute(*gradient.weight)).item<double>(), 0.01);
  }
}

TEST(MoreLayers, GroupsAndRows) {
  const Tensor x = random::normal(kKey, {2, 6, 5});
  auto groups = nn::GroupNorm::init(3, 6, {.eps = 0.5});
  groups.weight = *groups.weight * 3;
  EXPECT_EQ(difference(groups(x), group_norm(x, 3, *groups.weight, *groups.bias, 0.5)), 0);
  EXPECT_EQ(leaf_count(nn::GroupNorm::init(3, 6, {.affine = false})), 0);
  auto rows = nn::RMSNorm::init({6, 5});
  rows.weight = *rows.weight * 2;
  EXPECT_EQ(difference(rows(x), rms_norm(x, {6, 5}, *rows.weight)), 0);
  EXPECT_EQ(
      difference(nn::RMSNorm::init(5, {.eps = 0.1, .weight = false})(x), rms_norm(x, {5}, {}, 0.1)),
      0);
}

TEST(MoreLayers, DropoutDropsInTraining) {
  const Tensor x = ones({100});
  const nn::Dropout drop{0.3};
  EXPECT_EQ(difference(drop(x, kKey), dropout(x, 0.3, kKey)), 0);
  EXPECT_EQ(difference(nn::eval(drop)(x, kKey), x), 0);
  EXPECT_EQ(difference(nn::eval(drop)(x), x), 0);
  EXPECT_GT(difference(nn::train(nn::eval(drop))(x), x), 0);
}

TEST(MoreLayers, LayersOneAfterTheOther) {
  nn::Sequential net{nn::Linear::init(kKey, 4, 3), relu, nn::BatchNorm::init(3), nn::Dropout{0.5},
                     [](const Tensor& x) { return x * 2; }};
  const std::vector<std::string> paths{"0.weight",
                                       "0.bias",
                                       "2.weight",
                                       "2.bias",
                                       "2.running_mean",
                                       "2.running_var",
                                       "2.num_batches_tracked"};
  EXPECT_EQ(leaf_paths(net), paths);
  const Tensor x = random::normal(kKey, {5, 4});
  net(x);
  EXPECT_GT(max(absolute(*std::get<2>(net).running_mean)).item<double>(), 0);
  const auto still = nn::eval(net);
  const auto& norm = std::get<2>(still);
  const Tensor expected = norm(relu(std::get<0>(still)(x))) * 2;
  EXPECT_EQ(difference(still(x), expected), 0);
  const auto run = jit([](const decltype(net)& net, const Tensor& x) { return net(x); });
  EXPECT_LT(difference(run(still, x), expected), 1e-6);
}

TEST(MoreLayers, TheModeIsThatOfAllLayersOfAModel) {
  struct Block {
    std::vector<nn::Dropout> drops;
    std::optional<nn::BatchNorm> norm;
    std::map<std::string, nn::Dropout> named;
    std::pair<nn::Dropout, int> other;
    bool is_other = true;
  };
  const auto modes = [](const Block& block) {
    return std::vector<bool>{block.drops[1].training, block.norm->training,
                             block.named.at("a").training, block.other.first.training,
                             block.is_other};
  };
  const Block block{std::vector<nn::Dropout>(2), nn::BatchNorm::init(3), {{"a", {}}}, {{}, 1}};
  EXPECT_EQ(modes(nn::eval(block)), (std::vector<bool>{false, false, false, false, true}));
  EXPECT_EQ(modes(nn::train(nn::eval(block))), std::vector<bool>(5, true));
}

TEST(MoreLayers, RefuseInvalidOptions) {
  expect_contains(what_of<ValueError>([] { nn::Conv3d::init(kKey, 6, 4, 3, {.groups = 4}); }),
                  {"nn::Conv3d", "in 4 groups"});
  expect_contains(what_of<ValueError>([] { nn::Conv1d::init(kKey, 6, 4, {3, 3}); }), {"window"});
  expect_contains(what_of<ValueError>([] { nn::Conv1d::init(kKey, 6, 4, 3, {.stride = 0}); }),
                  {"stride"});
  expect_contains(
      what_of<ValueError>([] { nn::ConvTranspose2d::init(kKey, 6, 4, 3, {.groups = 0}); }),
      {"nn::ConvTranspose2d", "in 0 groups"});
  expect_contains(what_of<ValueError>([] { nn::BatchNorm::init(-1); }), {"nn::BatchNorm", "-1"});
  expect_contains(what_of<ValueError>([] { nn::BatchNorm::init(3, {.momentum = 2}); }),
                  {"momentum is 2"});
  expect_contains(what_of<ValueError>([] { nn::BatchNorm::init(3, {.eps = -1}); }), {"eps is -1"});
  expect_contains(what_of<ValueError>([] { nn::GroupNorm::init(4, 6); }),
                  {"nn::GroupNorm", "4 groups"});
  expect_contains(what_of<ValueError>([] { nn::RMSNorm::init(-2); }), {"nn::RMSNorm", "-2"});
}

}  // namespace
}  // namespace plait::more_layers_tests
