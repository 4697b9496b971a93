// Recurrent layers: names, initial weights, transforms, dropout and errors. Their values are
// compared with PyTorch's by tests/oracles/layers_oracle.py.
#include "plait/nn/sequences/recurrent_layers.h"

#include <gtest/gtest.h>

#include "plait/nn/models/freeze.h"
#include "plait/nn/models/mode.h"
#include "plait/nn/models/state.h"
#include "plait/ops/arrays/rearrange.h"

#include "tests/nn/sequence_ways.h"
#include "tests/support/errors.h"

namespace plait::sequence_ways {
namespace {

constexpr auto kCallLayer = [](const auto& layer, const Tensor& x) { return layer(x); };
constexpr auto kCallWithLengths = [](const auto& layer, const Tensor& x) {
  return layer(x, {}, {.lengths = tensor<int64_t>({2, 4, 1})});
};

nn::LSTM small_lstm(const Tensor& key) {
  return nn::LSTM::init(key, 2, 3, {.bidirectional = true, .proj_size = 2, .dtype = DType::f64});
}

struct WithEncoder {
  nn::RNN encoder;
};

TEST(RecurrentLayers, WeightsHaveNamesOfPyTorch) {
  const auto lstm = small_lstm(random::key(1));
  const std::vector<std::string> names{
      "bias_hh_l0",   "bias_hh_l0_reverse",   "bias_ih_l0",   "bias_ih_l0_reverse",
      "weight_hh_l0", "weight_hh_l0_reverse", "weight_hr_l0", "weight_hr_l0_reverse",
      "weight_ih_l0", "weight_ih_l0_reverse"};
  EXPECT_EQ(leaf_paths(lstm), names);
  const auto state = nn::state(lstm);
  EXPECT_EQ(state.at("weight_ih_l0").type().text(), "f64[12, 2]");
  EXPECT_EQ(state.at("weight_hh_l0_reverse").type().text(), "f64[12, 2]");
  EXPECT_EQ(state.at("weight_hr_l0").type().text(), "f64[2, 3]");
  const auto gru = nn::GRU::init(random::key(1), 2, 3, {.num_layers = 2, .bias = false});
  EXPECT_EQ(leaf_paths(gru), (std::vector<std::string>{"weight_hh_l0", "weight_hh_l1",
                                                       "weight_ih_l0", "weight_ih_l1"}));
  EXPECT_EQ(gru.weights.at("weight_ih_l1").type().text(), "f32[9, 3]");
  const WithEncoder model{nn::RNN::init(random::key(1), 2, 3)};
  EXPECT_EQ(leaf_paths(model)[0], "encoder.bias_hh_l0");
  const auto frozen = nn::freeze(model, {"encoder.weight_*"});
  EXPECT_EQ(frozen.frozen.size(), 2);
}

TEST(RecurrentLayers, OptionsAreAPartOfTheKey) {
  const auto relu =
      nn::RNN::init(random::key(1), 2, 3, {.nonlinearity = nn::RNNNonlinearity::relu});
  auto tanh = relu;
  tanh.nonlinearity = nn::RNNNonlinearity::tanh;
  EXPECT_EQ(explain_difference(key_of(relu), key_of(tanh)), "nonlinearity: 1 ≠ 0");
  auto further = relu;
  further.weights.emplace("weight_ih_l1", zeros({3, 3}));
  EXPECT_FALSE(key_of(relu) == key_of(further));
  const auto run = jit(kCallLayer);
  const Tensor x = ones({4, 2});
  EXPECT_NE(run(relu, x).first.text(), run(tanh, x).first.text());
  EXPECT_EQ(run.stats().traces, 2);
}

TEST(RecurrentLayers, BeginAsPyTorchHasThem) {
  const auto layer = nn::LSTM::init(random::key(3), 4, 64);
  for (const auto& [name, weight] : layer.weights) {
    const double greatest = max(absolute(weight)).item<double>();
    EXPECT_LE(greatest, 1 / 8.) << name;
    EXPECT_GT(greatest, 0.115) << name;
    EXPECT_LT(std::abs(mean(weight).item<double>()), 0.03) << name;
  }
  const auto again = nn::LSTM::init(random::key(3), 4, 64);
  EXPECT_EQ(greatest_difference(layer.weights.at("weight_ih_l0"), again.weights.at("weight_ih_l0")),
            0);
}

TEST(RecurrentLayers, StepsOfACellAreTheLayer) {
  const auto layer = nn::GRU::init(random::key(1), 2, 3, {.dtype = DType::f64});
  const nn::GRUCell cell{layer.weights.at("weight_ih_l0"), layer.weights.at("weight_hh_l0"),
                         layer.weights.at("bias_ih_l0"), layer.weights.at("bias_hh_l0")};
  const Tensor x = drawn(2, {5, 4, 2});
  Tensor h;
  for (int64_t i = 0; i < 5; ++i) h = cell(x[i], h);
  EXPECT_LT(greatest_difference(h, layer(x).second[0]), 1e-13);
}

TEST(RecurrentLayers, LengthsEndSequences) {
  const Tensor x = drawn(2, {4, 3, 2}), lengths = tensor<int64_t>({2, 4, 1});
  for (const bool batch_first : {false, true}) {
    const auto layer = nn::LSTM::init(
        random::key(1), 2, 3,
        {.num_layers = 2, .batch_first = batch_first, .bidirectional = true, .dtype = DType::f64});
    const auto turned = [&](const Tensor& each) {
      return batch_first ? swapaxes(each, 0, 1) : each;
    };
    const auto [output, state] = layer(turned(x), {}, {.lengths = lengths});
    for (int64_t i = 0; i < 3; ++i) {
      const int64_t length = lengths[i].item<int64_t>();
      const Slice own{i, i + 1};
      const auto [alone, last] = layer(turned(x[{Slice{0, length}, own}]));
      const Tensor found = turned(output)[{Slice{}, own}];
      EXPECT_LT(greatest_difference(found[Slice{0, length}], turned(alone)), 1e-12);
      EXPECT_EQ(sum(absolute(found[Slice{length, {}}])).item<double>(), 0);
      EXPECT_LT(greatest_difference(state.first[{Slice{}, own}], last.first), 1e-12);
      EXPECT_LT(greatest_difference(state.second[{Slice{}, own}], last.second), 1e-12);
    }
  }
}

TEST(RecurrentLayers, InAllWays) {
  const Tensor x = drawn(2, {4, 3, 2});
  expect_all_ways(
      [](const Tensor& key) {
        return nn::RNN::init(key, 2, 3, {.num_layers = 2, .dtype = DType::f64});
      },
      kCallWithLengths, x);
  expect_all_ways(
      [](const Tensor& key) {
        return nn::GRU::init(key, 2, 3, {.bidirectional = true, .dtype = DType::f64});
      },
      kCallWithLengths, x);
  expect_all_ways(small_lstm, kCallWithLengths, x);
  expect_all_ways(
      [](const Tensor& key) { return nn::RNNCell::init(key, 2, 3, {.dtype = DType::f64}); },
      kCallLayer, x[0]);
  expect_all_ways(
      [](const Tensor& key) { return nn::GRUCell::init(key, 2, 3, {.dtype = DType::f64}); },
      kCallLayer, x[0]);
  expect_all_ways(
      [](const Tensor& key) { return nn::LSTMCell::init(key, 2, 3, {.dtype = DType::f64}); },
      kCallLayer, x[0]);
}

TEST(RecurrentLayers, SymbolicBatchAndLength) {
  const std::vector<Tensor> inputs{drawn(1, {4, 3, 2}), drawn(2, {5, 2, 2}), drawn(3, {7, 6, 2}),
                                   drawn(4, {2, 5, 2})};
  expect_symbolic_sizes(small_lstm(random::key(1)), kCallLayer, inputs);
  expect_symbolic_sizes(small_lstm(random::key(1)), grad(Loss{kCallLayer}), inputs);
  expect_symbolic_sizes(
      small_lstm(random::key(1)),
      [](const nn::LSTM& layer, const Tensor& x) {
        return layer(x, {}, {.lengths = minimum(iota(x.shape(1)) + 1, x.shape(0))});
      },
      inputs);
  expect_symbolic_sizes(nn::GRU::init(random::key(1), 2, 3,
                                      {.num_layers = 2, .batch_first = true, .dtype = DType::f64}),
                        kCallLayer, inputs);
  const std::vector<Tensor> steps{inputs[0][0], inputs[1][0], inputs[2][0], inputs[3][0]};
  expect_symbolic_sizes(nn::LSTMCell::init(random::key(1), 2, 3, {.dtype = DType::f64}), kCallLayer,
                        steps);
}

TEST(RecurrentLayers, DropoutIsBetweenLayersInTraining) {
  const Tensor x = drawn(2, {50, 8, 4}), key = random::key(4);
  const auto layer =
      nn::GRU::init(random::key(1), 4, 16, {.num_layers = 2, .dropout = 0.5, .dtype = DType::f64});
  const Tensor kept = nn::eval(layer)(x).first;
  EXPECT_EQ(greatest_difference(kept, nn::eval(layer)(x, {}, {.key = key}).first), 0);
  const Tensor dropped = layer(x, {}, {.key = key}).first;
  EXPECT_EQ(greatest_difference(dropped, layer(x, {}, {.key = key}).first), 0);
  EXPECT_GT(greatest_difference(dropped, kept), 0.01);
  EXPECT_GT(greatest_difference(layer(x).first, layer(x).first), 0.01);  // drawn keys
  // The first layer is the same: only its outputs are dropped.
  EXPECT_EQ(greatest_difference(layer(x, {}, {.key = key}).second[0], nn::eval(layer)(x).second[0]),
            0);
  const auto one = nn::GRU::init(random::key(1), 4, 16, {.dropout = 0.5, .dtype = DType::f64});
  EXPECT_EQ(greatest_difference(one(x).first, one(x).first), 0);
}

TEST(RecurrentLayers, RefuseInvalidOptions) {
  const Tensor key = random::key(1), x = ones({4, 3, 2});
  const auto refused = [](auto work, std::initializer_list<std::string_view> parts) {
    expect_contains(what_of(work), parts);
  };
  refused([&] { nn::LSTM::init(key, 2, 0); }, {"nn::LSTM", "hidden_size is 0, expected 1 or more"});
  refused([&] { nn::RNN::init(key, -2, 3); }, {"nn::RNN", "input_size is -2"});
  refused([&] { nn::GRU::init(key, 2, 3, {.num_layers = 0}); },
          {"nn::GRU", "num_layers is 0, expected 1 to 65536", "recurrent_layers_test.cpp"});
  refused([&] { nn::GRU::init(key, 2, 3, {.dropout = 1.5}); }, {"dropout is 1.5, expected 0 to 1"});
  refused([&] { nn::LSTM::init(key, 2, 3, {.proj_size = 3}); },
          {"proj_size is 3, expected 0", "less than hidden_size, 3"});
  refused([&] { nn::LSTM::init(key, 2, 3, {.proj_size = -1}); }, {"proj_size is -1"});
  const auto lstm = nn::LSTM::init(key, 2, 3);
  refused([&] { lstm(ones({4, 3, 5})); },
          {"nn::LSTM", "f32[4, 3, 5]", "expected 2 or 3 dimensions, the last of 2",
           "recurrent_layers_test.cpp"});
  refused([&] { lstm(ones({2})); }, {"f32[2]"});
  auto without = lstm;
  without.weights.erase("weight_hh_l0");
  refused([&] { without(x); }, {"KeyError", "nn::LSTM", "the weights lack weight_hh_l0"});
  refused([&] { lstm(x, {zeros({1, 3, 3}), zeros({1, 2, 3})}); },
          {"the initial state c is f32[1, 2, 3], expected [1, 3, 3]"});
  refused([&] { nn::GRU::init(key, 2, 3)(x, zeros({2, 3, 3})); },
          {"the initial state h is f32[2, 3, 3], expected [1, 3, 3]"});
  refused([&] { lstm(x, {}, {.lengths = zeros({}, DType::i64)}); },
          {"one integer for each sequence"});
  refused([&] { lstm(x, {}, {.lengths = ones({3})}); }, {"lengths is f32[3]"});
  refused([&] { lstm(x, {}, {.lengths = full({x.shape(1)}, 9)}); },
          {"lengths are", "expected numbers from 0 to the"});
  refused([&] { lstm(x, {}, {.lengths = full({x.shape(1)}, -1)}); }, {"lengths are"});
  refused([&] { lstm(x[0], {}, {.lengths = ones({1}, DType::i64)}); }, {"lengths is i64[1]"});
  refused([&] { nn::RNNCell::init(key, 2, 3)(ones({4, 5})); },
          {"nn::RNNCell", "expected 1 or 2 dimensions, the last of 2"});
  refused([&] { nn::LSTMCell::init(key, 2, 3)(ones({4, 2}), {zeros({4, 3}), zeros({3, 3})}); },
          {"the initial state c is f32[3, 3], expected [4, 3]"});
}

}  // namespace
}  // namespace plait::sequence_ways
