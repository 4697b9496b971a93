// Simple layers: what the oracle (tests/oracles/layer_cases_simple*.cpp) does not compare. Random
// layers by their statistics and keys, statistics over a named axis, initial weights, and errors.
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plait/nn/layers/activation_layers.h"
#include "plait/nn/layers/adaptive_softmax.h"
#include "plait/nn/layers/batch_norm.h"
#include "plait/nn/layers/convolution_layers.h"
#include "plait/nn/layers/dropout_layers.h"
#include "plait/nn/layers/embedding_layers.h"
#include "plait/nn/layers/instance_norm.h"
#include "plait/nn/layers/linear_layers.h"
#include "plait/nn/layers/norm_layers.h"
#include "plait/nn/layers/padding_layers.h"
#include "plait/nn/layers/pooling_layers.h"
#include "plait/nn/layers/resampling_layers.h"
#include "plait/nn/layers/shape_layers.h"
#include "plait/nn/models/mode.h"
#include "plait/nn/models/parametrizations.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/neural/normalization.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/statistics.h"
#include "plait/optim/sgd.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/jit.h"
#include "plait/transform/vmap.h"

#include "tests/support/errors.h"

namespace plait::simple_layers_tests {
namespace {

const Tensor kKey = random::key(3), kOther = random::key(4);

double difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  return max(absolute(a - b)).item<double>();
}
double average(const Tensor& x) { return mean(astype(x, DType::f64)).item<double>(); }
double deviation(const Tensor& x) { return stddev(astype(x, DType::f64)).item<double>(); }
double least(const Tensor& x) { return min(x).item<double>(); }
double greatest(const Tensor& x) { return max(x).item<double>(); }
Tensor normal(const Shape& shape) { return random::normal(kKey, shape, 0., 1., DType::f64); }

// ---- Random layers.

// The same key gives the same result, another key another one; calls without a key differ, and
// repeat after the same seed, also jitted. In evaluation, and without `rate`, nothing happens.
template <class Layer>
void expect_keys(const Layer& layer, const Layer& without, const Tensor& x) {
  EXPECT_EQ(difference(layer(x, kKey), layer(x, kKey)), 0);
  EXPECT_GT(difference(layer(x, kKey), layer(x, kOther)), 0);
  const auto run = jit([](const Layer& each, const Tensor& y) { return each(y); });
  const auto two_calls = [&](const auto& call) {
    random::seed(5);
    const Tensor first = call(layer, x);
    return std::pair{first, call(layer, x)};
  };
  const auto [first, second] =
      two_calls([](const Layer& each, const Tensor& y) { return each(y); });
  const auto [jitted_first, jitted_second] = two_calls(run);
  EXPECT_GT(difference(first, second), 0);
  EXPECT_LT(difference(first, jitted_first), 1e-6);
  EXPECT_LT(difference(second, jitted_second), 1e-6);
  for (const Layer& still : {nn::eval(layer), without}) {
    EXPECT_EQ(difference(still(x, kKey), x), 0);
    EXPECT_EQ(difference(still(x), x), 0);
  }
}

TEST(SimpleLayers, DropoutsFollowTheirKeys) {
  const Tensor x = normal({4, 3, 5}), image = normal({4, 3, 2, 5});
  expect_keys(nn::Dropout{0.5}, nn::Dropout{0}, x);
  expect_keys(nn::Dropout1d{0.5}, nn::Dropout1d{0}, x);
  expect_keys(nn::Dropout2d{0.5}, nn::Dropout2d{0}, image);
  expect_keys(nn::Dropout3d{0.5}, nn::Dropout3d{0}, image);
  expect_keys(nn::AlphaDropout{0.5}, nn::AlphaDropout{0}, x);
  expect_keys(nn::FeatureAlphaDropout{0.5}, nn::FeatureAlphaDropout{0}, x);
  const Tensor samples = normal({30, 2});
  expect_keys(nn::DropPath{0.5}, nn::DropPath{}, samples);
  expect_keys(nn::DropPath{0.5, false}, nn::DropPath{0, false}, samples);
}

TEST(SimpleLayers, DropoutsHaveTheirRates) {
  const Tensor rows = ones({400, 100}), channels = ones({100, 100, 3}),
               images = ones({40, 500, 3, 2});
  const auto dropped = [](const Tensor& x) { return average(equal(x, 0)); };
  EXPECT_NEAR(dropped(nn::Dropout{0.3}(rows, kKey)), 0.3, 0.01);
  EXPECT_NEAR(greatest(nn::Dropout{0.3}(rows, kKey)), 1 / 0.7, 1e-6);
  EXPECT_NEAR(dropped(nn::Dropout1d{0.3}(channels, kKey)), 0.3, 0.02);
  EXPECT_NEAR(dropped(nn::Dropout2d{0.3}(images, kKey)), 0.3, 0.02);
  EXPECT_NEAR(dropped(nn::Dropout3d{0.3}(ones({100, 100, 2, 1, 2}), kKey)), 0.3, 0.02);
  EXPECT_NEAR(dropped(nn::DropPath{0.3}(ones({5000, 2}), kKey)), 0.3, 0.02);
  EXPECT_NEAR(greatest(nn::DropPath{0.3}(ones({5000, 2}), kKey)), 1 / 0.7, 1e-6);
  EXPECT_EQ(greatest(nn::DropPath{0.3, false}(ones({5000, 2}), kKey)), 1);
  EXPECT_NEAR(dropped(nn::DropPath{0.3, false}(ones({5000, 2}), kKey)), 0.3, 0.02);
  // All or nothing of a channel or a sample.
  for (const Tensor& x : {nn::Dropout1d{0.3}(channels, kKey), nn::Dropout2d{0.3}(channels, kKey),
                          nn::DropPath{0.3}(rows, kKey), nn::DropPath{0.3, false}(rows, kKey),
                          nn::FeatureAlphaDropout{0.3}(channels, kKey)}) {
    EXPECT_EQ(difference(max(x, -1), min(x, -1)), 0);
    EXPECT_GT(deviation(x), 0.1);
  }
  const nn::Dropout all{1};
  EXPECT_EQ(greatest(all(rows, kKey)), 0);
}

struct Nested {
  std::variant<nn::Identity, nn::Dropout> one;
  std::vector<std::variant<nn::Dropout, nn::Identity>> several;
  std::map<std::string, std::optional<nn::Dropout>> named;
  std::unordered_map<int64_t, std::array<nn::Dropout, 2>> numbered;
  Buffers<std::pair<nn::Dropout, nn::Dropout>> still;
  const std::vector<int64_t> sizes = {1};
};

TEST(SimpleLayers, TheModeReachesAllPartsOfATree) {
  const nn::Dropout drop{0.5};
  const Nested model{.one = drop,
                     .several = {drop, nn::Identity{}},
                     .named = {{"a", drop}, {"b", std::nullopt}},
                     .numbered = {{3, {drop, drop}}},
                     .still = std::pair{drop, drop}};
  const auto expect = [](const Nested& made, bool training) {
    EXPECT_EQ(std::get<nn::Dropout>(made.one).training, training);
    EXPECT_EQ(std::get<nn::Dropout>(made.several[0]).training, training);
    EXPECT_EQ(made.named.at("a")->training, training);
    EXPECT_EQ(made.numbered.at(3)[1].training, training);
    EXPECT_EQ(made.still.second.training, training);
  };
  const Nested still = nn::eval(model);
  expect(still, false);
  expect(nn::train(still), true);
}

TEST(SimpleLayers, AlphaDropoutKeepsMeanAndVariance) {
  const Tensor x = random::normal(kOther, {400, 200});
  for (const Tensor& dropped :
       {nn::AlphaDropout{0.3}(x, kKey), nn::FeatureAlphaDropout{0.3}(x, kKey)}) {
    EXPECT_NEAR(average(dropped), 0, 0.02);
    EXPECT_NEAR(deviation(dropped), 1, 0.02);
    EXPECT_GT(difference(dropped, x), 1);
  }
}

TEST(SimpleLayers, RandomSlopesAreBetweenTheirBounds) {
  const nn::RReLU layer{.lower = 0.1, .upper = 0.4};
  const Tensor slopes = -layer(full({400, 100}, -1.), kKey);
  EXPECT_GE(least(slopes), 0.1);
  EXPECT_LE(greatest(slopes), 0.4);
  EXPECT_NEAR(average(slopes), 0.25, 0.005);
  EXPECT_NEAR(deviation(slopes), 0.3 / std::sqrt(12.), 0.005);
  EXPECT_EQ(difference(layer(ones({5}), kKey), ones({5})), 0);
  EXPECT_GT(difference(layer(full({9}, -1.)), layer(full({9}, -1.))), 0);
  EXPECT_NEAR(least(nn::eval(layer)(full({9}, -1.), kKey)), -0.25, 1e-6);
}

TEST(SimpleLayers, FractionalPoolingFollowsItsKey) {
  const Tensor x = normal({2, 3, 9, 9});
  const nn::FractionalMaxPool2d pool{.kernel_size = {2}, .output_size = {5}};
  const auto [values, indices] = pool.with_indices(x, kKey);
  EXPECT_EQ(difference(values, pool(x, kKey)), 0);
  const Tensor found = take_along_axis(reshape(x, {2, 3, 81}), reshape(indices, {2, 3, 25}), -1);
  EXPECT_EQ(difference(reshape(found, {2, 3, 5, 5}), values), 0);
  EXPECT_GT(difference(values, pool(x, kOther)), 0);
  EXPECT_GT(difference(pool(x), pool(x)), 0);
}

TEST(SimpleLayers, MaximaAreBackWhereTheyWere) {
  const Tensor x = normal({2, 3, 5, 7});
  const nn::MaxPool2d pool{.kernel_size = {2}};
  const nn::MaxUnpool2d unpool{.kernel_size = {2}};
  const auto [values, indices] = pool.with_indices(x);
  EXPECT_EQ(difference(values, pool(x)), 0);
  for (const std::vector<Dim>& size : {std::vector<Dim>{5, 7}, {2, 3, 5, 7}}) {
    const Tensor back = unpool(values, indices, size);
    EXPECT_EQ(difference(where(equal(back, 0), x, back), x), 0);
    EXPECT_EQ(sum(not_equal(back, 0)).item<int64_t>(), 2 * 3 * 2 * 3);
  }
  const auto whole = pool.with_indices(normal({2, 3, 4, 6}));
  EXPECT_EQ(unpool(whole.values, whole.indices).shape(), Shape({2, 3, 4, 6}));
  for (const int64_t wrong : {-1, 24}) {
    const Tensor places = where(whole.indices == max(whole.indices), wrong, whole.indices);
    expect_contains(what_of<IndexError>([&] { unpool(whole.values, places); }),
                    {fmt::format("the index {} is out of range for 24 elements", wrong)});
  }
}

// ---- Norms.

TEST(SimpleLayers, KeepTheirStatisticsForAnEmptyBatch) {
  const auto of_nothing = [](auto norm, const Shape& shape) {
    const auto before = norm;
    const auto loss = [&](decltype(norm) layer, const Tensor& x) { return sum(layer(x)); };
    const auto slope = grad(loss)(norm, zeros(shape));
    EXPECT_EQ(difference(*slope.weight, zeros({3})), 0) << shape.text();
    EXPECT_EQ(difference(*slope.bias, zeros({3})), 0) << shape.text();
    EXPECT_EQ(norm(zeros(shape)).shape(), shape);
    EXPECT_EQ(difference(*norm.running_mean, *before.running_mean), 0);
    EXPECT_EQ(difference(*norm.running_var, *before.running_var), 0);
  };
  of_nothing(nn::BatchNorm1d::init(3), {0, 3});
  of_nothing(nn::BatchNorm2d::init(3), {2, 3, 0, 5});
  const nn::InstanceNormOptions tracking{.affine = true, .track_running_stats = true};
  of_nothing(nn::InstanceNorm1d::init(3, tracking), {0, 3, 5});
  of_nothing(nn::InstanceNorm2d::init(3, tracking), {2, 3, 0, 5});
  const auto made = batch_norm(
      zeros({0, 3}), {.running_mean = ones({3}), .running_var = ones({3}), .training = true});
  EXPECT_EQ(difference(made.running_mean, ones({3})), 0);
  EXPECT_EQ(difference(made.running_var, ones({3})), 0);
}

TEST(SimpleLayers, OneElementHasNoVariance) {
  const Tensor x = ones({2, 3, 1});
  auto tracking = nn::InstanceNorm1d::init(3, {.track_running_stats = true});
  const auto plain = nn::InstanceNorm2d::init(3);
  const auto text = "one element per channel of a sample, expected two or more";
  expect_contains(what_of<ValueError>([&] { tracking(x); }),
                  {"nn::InstanceNorm1d: f32[2, 3, 1]", text, "simple_layers_test.cpp"});
  expect_contains(what_of<ValueError>([&] { nn::eval(plain)(ones({3, 1, 1})); }), {text});
  EXPECT_EQ(nn::eval(tracking)(x).shape(), x.shape());
}

TEST(SimpleLayers, MeansOverAllBatches) {
  auto norm = nn::BatchNorm::init(3, {.momentum = std::nullopt, .dtype = DType::f64});
  const Tensor batches = normal({5, 4, 3});
  for (int i = 0; i < 5; ++i) norm(batches[i]);
  EXPECT_EQ(norm.num_batches_tracked->item<int64_t>(), 5);
  EXPECT_LT(difference(*norm.running_mean, mean(batches, {0, 1})), 1e-12);
  EXPECT_LT(difference(*norm.running_var, mean(var(batches, 1, 1), 0)), 1e-12);
  norm(zeros({0, 3}, DType::f64));  // counts, but has no statistics
  EXPECT_EQ(norm.num_batches_tracked->item<int64_t>(), 6);
  EXPECT_LT(difference(*norm.running_mean, mean(batches, {0, 1})), 1e-12);
}

TEST(SimpleLayers, NamesOfTensorsAreThoseOfPyTorch) {
  const std::vector<std::string> paths{"weight", "bias", "running_mean", "running_var",
                                       "num_batches_tracked"};
  EXPECT_EQ(leaf_paths(nn::BatchNorm2d::init(3)), paths);
  EXPECT_EQ(leaf_paths(nn::SyncBatchNorm::init(3, "data")), paths);
  EXPECT_EQ(leaf_paths(nn::InstanceNorm1d::init(3, {.affine = true, .track_running_stats = true})),
            paths);
  EXPECT_EQ(leaf_paths(nn::InstanceNorm1d::init(3)), std::vector<std::string>{});
  EXPECT_EQ(leaf_paths(nn::AdaptiveLogSoftmaxWithLoss::init(kKey, 8, 9, {2, 5})),
            (std::vector<std::string>{"head.weight", "tail.0.0.weight", "tail.0.1.weight",
                                      "tail.1.0.weight", "tail.1.1.weight"}));
}

TEST(SimpleLayers, StatisticsOverANamedAxisAreThoseOfTheWholeBatch) {
  for (const std::optional<double> momentum : {std::optional(0.3), std::optional<double>()}) {
    const nn::BatchNormOptions options{.momentum = momentum, .dtype = DType::f64};
    auto layer = nn::SyncBatchNorm::init(3, "data", options);
    layer.weight = tensor<double>({0.5, 2, -1});
    layer.bias = tensor<double>({1, 2, 3});
    auto plain = nn::SyncBatchNorm::init(3, "", options);
    plain.weight = layer.weight;
    plain.bias = layer.bias;
    const Tensor x = normal({4, 2, 3, 5}), whole = reshape(x, {8, 3, 5});
    const auto parts = vmap(
        [](nn::SyncBatchNorm each, const Tensor& part) {
          const Tensor values = each(part);
          return std::pair{values, each};
        },
        {.in = {none, 0}, .name = "data"});
    const auto loss = [parts](const Tensor& given, const nn::SyncBatchNorm& norm) {
      return sum(sin(parts(norm, given).first));
    };
    const auto plain_loss = [](const Tensor& given, nn::SyncBatchNorm norm) {
      return sum(sin(norm(reshape(given, {8, 3, 5}))));
    };
    EXPECT_LT(difference(grad(loss)(x, layer), grad(plain_loss)(x, plain)), 1e-10);
    const auto [values, after] = parts(layer, x);
    const Tensor expected = plain(whole);
    EXPECT_LT(difference(reshape(values, {8, 3, 5}), expected), 1e-10);
    for (int i = 0; i < 4; ++i) {
      EXPECT_LT(difference(Tensor(*after.running_mean)[i], *plain.running_mean), 1e-12);
      EXPECT_LT(difference(Tensor(*after.running_var)[i], *plain.running_var), 1e-12);
      EXPECT_EQ(Tensor(*after.num_batches_tracked)[i].item<int64_t>(), 1);
    }
    auto still = nn::eval(nn::BatchNorm::init(3, options));
    still.weight = plain.weight;
    still.bias = plain.bias;
    still.running_mean = plain.running_mean;
    still.running_var = plain.running_var;
    EXPECT_EQ(difference(nn::eval(plain)(whole), still(whole)), 0);
  }
}

// A change that would be lost is refused: in a const layer, and in one outside of what is recorded.
template <class Layer>
void expect_no_lost_change(const Layer& layer, const std::string& change, const Tensor& x) {
  SCOPED_TRACE(testing::PrintToString(reflect::type_name<Layer>()));
  expect_contains(what_of<ValueError>([&] { layer(x); }),
                  {change, "but the layer is const", "nn::eval(model)"});
  EXPECT_EQ(nn::eval(layer)(x).shape(), x.shape());
  Layer outside = layer;
  const auto call = [&](const Tensor& y) { return outside(y); };
  for (const std::string& error :
       {what_of<ValueError>([&] { jit(frozen(call))(x); }),
        what_of<ValueError>([&] { vmap(call)(stack(std::vector{x, x})); })}) {
    expect_contains(error, {change, "would change in a layer outside of",
                            "pass the model as an argument, and return it"});
  }
  for_each_leaf(outside,
                [](std::string_view, const Tensor& leaf) { EXPECT_FALSE(leaf.is_traced()); });
  call(x);  // eagerly, it changes
  Layer inside = layer;
  std::tie(std::ignore, inside) = jit([](Layer each, const Tensor& y) {
    Tensor values = each(y);
    return std::pair{values, each};
  })(inside, x);
  const auto found = leaves<Tensor>(inside), expected = leaves<Tensor>(outside);
  for (size_t i = 0; i < found.size(); ++i) EXPECT_LT(difference(*found[i], *expected[i]), 1e-6);
}

TEST(SimpleLayers, ALostChangeIsRefused) {
  const Tensor x = random::normal(kKey, {4, 3, 5});
  expect_no_lost_change(nn::BatchNorm1d::init(3), "the running statistics", x);
  expect_no_lost_change(nn::BatchNorm::init(3, {.momentum = {}}), "the running statistics", x);
  expect_no_lost_change(nn::SyncBatchNorm::init(3, ""), "the running statistics", x);
  expect_no_lost_change(nn::InstanceNorm1d::init(3, {.track_running_stats = true}),
                        "the running statistics", x);
  expect_no_lost_change(nn::spectral_norm(kKey, nn::Linear::init(kKey, 5, 5)),
                        "the vectors of the spectral norm", x);
  const auto untracked = nn::BatchNorm1d::init(3, {.track_running_stats = false});
  EXPECT_LT(difference(untracked(x), batch_norm(x).values), 1e-6);
}

std::pair<Tensor, nn::BatchNorm1d> loss_of(nn::BatchNorm1d norm, const Tensor& x) {
  const Tensor loss = sum(sin(norm(x)));
  return {loss, norm};
}

TEST(SimpleLayers, StepsOfModelsWithCounters) {
  const auto step =
      jit([](const nn::BatchNorm1d& norm, const optim::SGD<nn::BatchNorm1d>& sgd, const Tensor& x) {
        const auto [result, gradients] = value_and_grad(loss_of, with_aux)(norm, x);
        return sgd.update(result.second, gradients);
      });
  auto norm = nn::BatchNorm1d::init(3);
  optim::SGD<nn::BatchNorm1d> sgd(norm, {.lr = 0.1, .momentum = 0.9});
  const Tensor x = random::normal(kKey, {4, 3});
  auto expected = norm;
  for (int i = 0; i < 3; ++i) {
    std::tie(norm, sgd) = step(norm, sgd, x);
    expected(x);
  }
  EXPECT_EQ(norm.num_batches_tracked->item<int64_t>(), 3);
  EXPECT_LT(difference(*norm.running_mean, *expected.running_mean), 1e-6);
  EXPECT_GT(difference(*norm.weight, *expected.weight), 1e-3);
  const auto gradients = jit([](const nn::BatchNorm1d& each, const Tensor& y) {
    return grad(loss_of, with_aux)(each, y).first;
  })(norm, x);
  EXPECT_EQ(gradients.num_batches_tracked->item<int64_t>(), 0);
}

// ---- Initial weights.

TEST(SimpleLayers, BeginAsPyTorchHasThem) {
  const auto slopes = nn::PReLU::init({.num_parameters = 3, .init = 0.5});
  EXPECT_EQ(slopes.weight.text(), full({3}, 0.5).text());
  const auto bilinear = nn::Bilinear::init(kKey, 25, 20, 10);
  for (const Tensor& each : {bilinear.weight, *bilinear.bias}) {
    EXPECT_LE(greatest(absolute(each)), 0.2);  // 1/√25
    EXPECT_GT(greatest(absolute(each)), 0.15);
  }
  EXPECT_FALSE(nn::Bilinear::init(kKey, 2, 2, 3, {.bias = false}).bias.has_value());
  const auto table = nn::Embedding::init(kKey, 100, 50, {.padding_idx = -97});
  EXPECT_EQ(table.padding_idx, 3);
  EXPECT_NEAR(deviation(table.weight), 1, 0.05);
  EXPECT_EQ(greatest(absolute(table.weight[3])), 0);
  EXPECT_GT(greatest(absolute(table.weight[2])), 1);
  const auto bags = nn::EmbeddingBag::init(kKey, 4, 2, {.padding_idx = -1});
  EXPECT_EQ(bags.padding_idx, 3);
  EXPECT_EQ(greatest(absolute(bags.weight[3])), 0);
}

TEST(SimpleLayers, RowsAreSmallOnlyWhereTheyAreRead) {
  const auto table = nn::Embedding::init(kKey, 6, 4, {.max_norm = 0.5, .dtype = DType::f64});
  const Tensor rows = table(iota(6));
  EXPECT_NEAR(greatest(norm(rows, 2, -1)), 0.5, 1e-6);
  EXPECT_GT(least(norm(table.weight, 2, -1)), 0.5);
  const Tensor scaled = rows / norm(rows, 2, -1, true) * norm(table.weight, 2, -1, true);
  EXPECT_LT(difference(scaled, table.weight), 1e-6);
}

// ---- Errors.

TEST(SimpleLayers, RefuseInvalidOptions) {
  const Tensor x = ones({2, 3}), image = ones({2, 3, 4, 5});
  const auto refuses = [](auto call, std::initializer_list<std::string_view> parts) {
    expect_contains(what_of<ValueError>(call), parts);
    expect_contains(what_of<ValueError>(call), {"simple_layers_test.cpp"});
  };
  const auto has_no_shape = [](auto call, std::initializer_list<std::string_view> parts) {
    expect_contains(what_of<ShapeError>(call), parts);
    expect_contains(what_of<ShapeError>(call), {"simple_layers_test.cpp"});
  };
  refuses([] { nn::PReLU::init({.num_parameters = 0}); }, {"nn::PReLU", "num_parameters is 0"});
  refuses([&] { nn::RReLU{.lower = 0.5, .upper = 0.1}(x); }, {"from 0.5 to 0.1"});
  refuses([&] { nn::Dropout{2}(x); }, {"probability is 2"});
  refuses([&] { nn::DropPath{-1}(x); }, {"nn::DropPath", "drop_prob is -1"});
  refuses([&] { nn::DropPath{2, false}(x); }, {"nn::DropPath", "drop_prob is 2"});
  refuses([&] { nn::Flatten{.start_dim = 2, .end_dim = 1}(image); },
          {"nn::Flatten", "start_dim is 2 and end_dim 1"});
  refuses([&] { nn::ChannelShuffle{2}(image); }, {"3 channels", "2 groups"});
  refuses([&] { nn::ZeroPad2d{{1, 2, 3}}(image); }, {"nn::ZeroPad2d", "3 numbers for the width"});
  refuses([&] { nn::ReflectionPad2d{{-1}}(image); }, {"nn::ReflectionPad2d", "-1"});
  refuses([&] { nn::Upsample{}(image); }, {"nn::Upsample", "sizes or scales"});
  refuses([&] { nn::Upsample{.size = {3}, .align_corners = true}(image); }, {"align_corners"});
  refuses([&] { nn::Upsample{.scale_factor = {2, 2, 2}, .recompute_scale_factor = true}(image); },
          {"3 scale factors for 2 dimensions"});
  refuses([&] { nn::LPPool2d{.norm_type = 0, .kernel_size = {2}}(image); }, {"norm type is 0"});
  refuses([&] { nn::MaxPool2d{}(image); }, {"window"});
  refuses([&] { nn::FractionalMaxPool2d{.kernel_size = {2}}(image); }, {"output size"});
  refuses([&] { nn::Fold{.output_size = {4, 5, 6}, .kernel_size = {2}}(ones({2, 12, 9})); },
          {"nn::Fold", "3 numbers for the output size"});
  refuses([] { nn::Embedding::init(kKey, 5, 3, {.padding_idx = 5}); }, {"padding_idx is 5"});
  refuses([] { nn::Embedding::init(kKey, 5, 3, {.max_norm = 0}); }, {"max_norm is 0"});
  refuses([&] { nn::Embedding{.weight = x, .max_norm = -1}(tensor<int64_t>({0})); },
          {"max_norm is -1"});
  refuses([] { nn::EmbeddingBag::init(kKey, -5, 3); }, {"nn::EmbeddingBag", "-5"});
  refuses([] { nn::Bilinear::init(kKey, 0, 3, 2); }, {"nn::Bilinear", "0 first inputs"});
  refuses([] { nn::AdaptiveLogSoftmaxWithLoss::init(kKey, 8, 9, {5, 2}); }, {"5, 2, 9"});
  const auto adaptive = nn::AdaptiveLogSoftmaxWithLoss::init(kKey, 3, 9, {2, 5});
  for (const int64_t wrong : {-1, 9}) {
    EXPECT_THROW(adaptive(x, tensor<int64_t>({0, wrong})), IndexError);
  }
  has_no_shape([&] { adaptive(x, tensor<int64_t>({0, 1, 2})); }, {"i64[3]", "expected [2]"});
  refuses([] { nn::AdaptiveLogSoftmaxWithLoss::init(kKey, 8, 9, {}); }, {"cutoffs"});
  refuses([] { nn::AdaptiveLogSoftmaxWithLoss::init(kKey, 8, 9, {2}, {.div_value = 0.5}); },
          {"div_value is 0.5"});
  refuses([] { nn::BatchNorm2d::init(-1); }, {"nn::BatchNorm2d", "-1"});
  refuses([] { nn::InstanceNorm3d::init(3, {.eps = -1}); }, {"nn::InstanceNorm3d", "eps is -1"});
  refuses([] { nn::Conv2d::init(kKey, 2, 3, 3, {.stride = 2, .same_padding = true}); },
          {"nn::Conv2d", "stride of 2"});
  const auto transposed = nn::ConvTranspose2d::init(kKey, 3, 2, 3, {.stride = 2});
  refuses([&] { transposed(image, {8, 11}); }, {"nn::ConvTranspose2d", "8", "9 to 10"});
  refuses([&] { transposed(image, {11}); }, {"nn::ConvTranspose2d", "1 numbers"});

  has_no_shape([&] { nn::Softmax2d{}(x); }, {"nn::Softmax2d", "3 or 4 dimensions"});
  has_no_shape([&] { nn::GLU{}(x); }, {"glu", "odd"});
  has_no_shape([&] { nn::Dropout3d{}(x); }, {"dropout3d", "f32[2, 3]"});
  has_no_shape([&] { nn::DropPath{0.5, false}(ones({})); }, {"nn::DropPath", "samples"});
  has_no_shape([&] { nn::ConstantPad3d{{1}}(image[0]); }, {"nn::ConstantPad3d", "4 or 5"});
  has_no_shape([&] { nn::Upsample{.size = {3}}(x); }, {"nn::Upsample", "3 or 4 or 5"});
  has_no_shape([&] { nn::UpsamplingNearest2d{.size = {3}}(ones({1, 2, 3})); },
               {"nn::UpsamplingNearest2d", "4 dimensions"});
  has_no_shape([&] { nn::BatchNorm1d::init(3)(image); }, {"nn::BatchNorm1d", "2 or 3 dimensions"});
  has_no_shape([&] { nn::BatchNorm2d::init(3)(x); }, {"nn::BatchNorm2d", "expected 4 dimensions"});
  has_no_shape([&] { nn::SyncBatchNorm::init(3, "data")(ones({3})); }, {"nn::SyncBatchNorm"});
  has_no_shape([&] { nn::InstanceNorm1d::init(3)(image); }, {"nn::InstanceNorm1d", "2 or 3"});
  has_no_shape([&] { nn::CrossMapLRN2d{3}(x); }, {"nn::CrossMapLRN2d", "4 dimensions"});
  has_no_shape([&] { nn::Bilinear::init(kKey, 3, 3, 2)(x, ones({2, 4})); }, {"bilinear"});
  expect_contains(what_of<KeyError>([&] { nn::SyncBatchNorm::init(3, "data")(x); }), {"data"});
}

}  // namespace
}  // namespace plait::simple_layers_tests
