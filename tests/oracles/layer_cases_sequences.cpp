// Recurrent layers.
#include "plait/nn/sequences/recurrent_layers.h"

#include "tests/oracles/layer_cases.h"
#include "tests/oracles/sequence_cases.h"

namespace plait {
namespace {

using nn::RNNNonlinearity;

const LayerCases kCells{
    layer("rnn_cell",
          [](const Tensor& key) { return nn::RNNCell::init(key, 3, 5, {.dtype = kF64}); }),
    layer<2>("rnn_cell_relu",
             [](const Tensor& key) {
               return nn::RNNCell::init(
                   key, 3, 5,
                   {.bias = false, .nonlinearity = RNNNonlinearity::relu, .dtype = kF64});
             }),
    layer<2>("gru_cell",
             [](const Tensor& key) { return nn::GRUCell::init(key, 3, 5, {.dtype = kF64}); }),
    layer("gru_cell_without_bias",
          [](const Tensor& key) {
            return nn::GRUCell::init(key, 3, 5, {.bias = false, .dtype = kF64});
          }),
    layer("lstm_cell",
          [](const Tensor& key) {
            return nn::LSTMCell::init(key, 3, 5, {.bias = false, .dtype = kF64});
          }),
    layer<3>("lstm_cell_with_states",
             [](const Tensor& key) {
               return called(nn::LSTMCell::init(key, 3, 5, {.dtype = kF64}),
                             [](const auto& cell, const Tensor& x, const Tensor& h,
                                const Tensor& c) { return cell(x, {h, c}); });
             }),
};

const LayerCases kLayers{
    layer("rnn", [](const Tensor& key) { return nn::RNN::init(key, 3, 5, {.dtype = kF64}); }),
    layer<2>("rnn_relu",
             [](const Tensor& key) {
               return nn::RNN::init(key, 3, 5,
                                    {.num_layers = 2,
                                     .nonlinearity = RNNNonlinearity::relu,
                                     .bias = false,
                                     .batch_first = true,
                                     .bidirectional = true,
                                     .dtype = kF64});
             }),
    layer("rnn_dropout_eval",
          [](const Tensor& key) {
            return nn::RNN::init(key, 3, 5, {.num_layers = 3, .dropout = 0.5, .dtype = kF64});
          }),
    layer("gru",
          [](const Tensor& key) {
            return nn::GRU::init(key, 3, 5,
                                 {.num_layers = 2, .bidirectional = true, .dtype = kF64});
          }),
    layer<2>("gru_without_batch",
             [](const Tensor& key) {
               return nn::GRU::init(
                   key, 3, 5, {.num_layers = 2, .bias = false, .batch_first = true, .dtype = kF64});
             }),
    layer("lstm",
          [](const Tensor& key) {
            return nn::LSTM::init(key, 3, 5,
                                  {.num_layers = 2, .bidirectional = true, .dtype = kF64});
          }),
    layer("lstm_projected",
          [](const Tensor& key) {
            return nn::LSTM::init(key, 3, 5,
                                  {.num_layers = 2,
                                   .bias = false,
                                   .batch_first = true,
                                   .bidirectional = true,
                                   .proj_size = 2,
                                   .dtype = kF64});
          }),
    layer<3>("lstm_with_states",
             [](const Tensor& key) {
               return called(
                   nn::LSTM::init(key, 3, 5, {.num_layers = 2, .batch_first = true, .dtype = kF64}),
                   [](const auto& lstm, const Tensor& x, const Tensor& h, const Tensor& c) {
                     return lstm(x, {h, c});
                   });
             }),
    layer("lstm_dropout_eval",
          [](const Tensor& key) {
            return nn::LSTM::init(key, 3, 5, {.num_layers = 2, .dropout = 0.9, .dtype = kF64});
          }),
};

constexpr auto kWithLengths = [](const auto& layers, const Tensor& x, const Tensor& h,
                                 const Tensor& lengths) {
  return layers(x, h, {.lengths = lengths});
};
constexpr auto kWithLengthsOfLstm = [](const auto& layers, const Tensor& x, const Tensor& h,
                                       const Tensor& c, const Tensor& lengths) {
  return layers(x, {h, c}, {.lengths = lengths});
};

const LayerCases kLengths{
    layer<3>("rnn_lengths",
             [](const Tensor& key) {
               return called(nn::RNN::init(key, 3, 5, {.bidirectional = true, .dtype = kF64}),
                             kWithLengths);
             }),
    layer<3>(
        "gru_lengths",
        [](const Tensor& key) {
          return called(
              nn::GRU::init(
                  key, 3, 5,
                  {.num_layers = 2, .batch_first = true, .bidirectional = true, .dtype = kF64}),
              kWithLengths);
        }),
    layer<4>("lstm_lengths",
             [](const Tensor& key) {
               return called(nn::LSTM::init(key, 3, 5,
                                            {.num_layers = 2,
                                             .batch_first = true,
                                             .bidirectional = true,
                                             .proj_size = 2,
                                             .dtype = kF64}),
                             kWithLengthsOfLstm);
             }),
};

}  // namespace
}  // namespace plait
