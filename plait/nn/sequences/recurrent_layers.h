// Recurrent layers: cells, which take one step, and layers that scan over sequences. The rows of
// their weights are those of all gates, in PyTorch's order.
//
//   const auto lstm = nn::LSTM::init(random::key(1), 3, 4, {.num_layers = 2});
//   const auto [output, state] = lstm(x);                      // x [length, batch, 3]
//   const auto [others, last] = lstm(x, {}, {.lengths = lengths});
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "plait/core/trees/reflect.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

enum class RNNNonlinearity : uint8_t { tanh, relu };
using LSTMState = std::pair<Tensor, Tensor>;  // h and c

// ---- Cells: one step, for inputs [batch, input_size] or [input_size]. Without a state it is
// zeros.

struct RNNCellOptions {
  bool bias = true;
  RNNNonlinearity nonlinearity = RNNNonlinearity::tanh;
  DType dtype = DType::f32;
};
// tanh(weight_ih x + bias_ih + weight_hh h + bias_hh), or relu of it.
struct RNNCell {
  Tensor weight_ih, weight_hh;  // [hidden_size, input_size], [hidden_size, hidden_size]
  std::optional<Tensor> bias_ih, bias_hh;
  RNNNonlinearity nonlinearity = RNNNonlinearity::tanh;

  static RNNCell init(const Tensor& key, int64_t input_size, int64_t hidden_size,
                      const RNNCellOptions& options = {});
  Tensor operator()(const Tensor& input, const Tensor& h = {}) const;
};

struct CellOptions {
  bool bias = true;
  DType dtype = DType::f32;
};
// Gated recurrent unit, whose gates are reset, update and new.
struct GRUCell {
  Tensor weight_ih, weight_hh;  // [3 hidden_size, input_size], [3 hidden_size, hidden_size]
  std::optional<Tensor> bias_ih, bias_hh;

  static GRUCell init(const Tensor& key, int64_t input_size, int64_t hidden_size,
                      const CellOptions& options = {});
  Tensor operator()(const Tensor& input, const Tensor& h = {}) const;
};

// Long short-term memory, whose gates are input, forget, cell and output.
struct LSTMCell {
  Tensor weight_ih, weight_hh;  // [4 hidden_size, input_size], [4 hidden_size, hidden_size]
  std::optional<Tensor> bias_ih, bias_hh;

  static LSTMCell init(const Tensor& key, int64_t input_size, int64_t hidden_size,
                       const CellOptions& options = {});
  LSTMState operator()(const Tensor& input, const LSTMState& state = {}) const;
};

// ---- Layers of cells over sequences [length, batch, input_size], or with batch_first [batch,
// length, input_size], or [length, input_size]. They return the output of the last layer, [length,
// batch, directions · hidden_size], and the last states, [num_layers · directions, batch,
// hidden_size].

// Arguments of a call besides the sequences and the initial states.
struct RecurrentCall {
  // i64[batch]: sequences end there. The last states are those at the ends, the output behind them
  // is 0, and the reverse direction begins at the ends.
  Tensor lengths = {};
  Tensor key = {};  // key of dropout; by default the next one of the default stream
};

// Common to RNN, GRU and LSTM.
struct RecurrentLayers {
  // By name: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_hr_l0; the number is that
  // of the layer, and names of the reverse direction end in _reverse.
  std::map<std::string, Tensor> weights;
  int64_t input_size = 0, hidden_size = 0, num_layers = 1;
  bool batch_first = false;
  double dropout = 0;  // between layers
  bool bidirectional = false;
  bool training = true;

  static constexpr auto fields() {  // paths of weights are their names
    using Self = RecurrentLayers;
    return plait::fields<Self>("", &Self::weights, "input_size", &Self::input_size, "hidden_size",
                               &Self::hidden_size, "num_layers", &Self::num_layers, "batch_first",
                               &Self::batch_first, "dropout", &Self::dropout, "bidirectional",
                               &Self::bidirectional, "training", &Self::training);
  }
};

struct RNNOptions {
  int64_t num_layers = 1;
  RNNNonlinearity nonlinearity = RNNNonlinearity::tanh;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;
  bool bidirectional = false;
  DType dtype = DType::f32;
};
// Layers of RNNCells.
struct RNN : RecurrentLayers {
  RNNNonlinearity nonlinearity = RNNNonlinearity::tanh;

  static RNN init(const Tensor& key, int64_t input_size, int64_t hidden_size,
                  const RNNOptions& options = {});
  std::pair<Tensor, Tensor> operator()(const Tensor& input, const Tensor& h = {},
                                       const RecurrentCall& call = {}) const;
  static constexpr auto fields() {
    return plait::fields<RNN>(plait::fields_of_base<RecurrentLayers>(), "nonlinearity",
                              &RNN::nonlinearity);
  }
};

struct GRUOptions {
  int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;
  bool bidirectional = false;
  DType dtype = DType::f32;
};
// Layers of GRUCells.
struct GRU : RecurrentLayers {
  static GRU init(const Tensor& key, int64_t input_size, int64_t hidden_size,
                  const GRUOptions& options = {});
  std::pair<Tensor, Tensor> operator()(const Tensor& input, const Tensor& h = {},
                                       const RecurrentCall& call = {}) const;
  static constexpr auto fields() {
    return plait::fields<GRU>(plait::fields_of_base<RecurrentLayers>());
  }
};

struct LSTMOptions {
  int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;
  bool bidirectional = false;
  int64_t proj_size = 0;  // size of h and the output, if not 0: weight_hr projects them
  DType dtype = DType::f32;
};
// Layers of LSTMCells.
struct LSTM : RecurrentLayers {
  int64_t proj_size = 0;

  static LSTM init(const Tensor& key, int64_t input_size, int64_t hidden_size,
                   const LSTMOptions& options = {});
  std::pair<Tensor, LSTMState> operator()(const Tensor& input, const LSTMState& state = {},
                                          const RecurrentCall& call = {}) const;
  static constexpr auto fields() {
    return plait::fields<LSTM>(plait::fields_of_base<RecurrentLayers>(), "proj_size",
                               &LSTM::proj_size);
  }
};

}  // namespace plait::nn
