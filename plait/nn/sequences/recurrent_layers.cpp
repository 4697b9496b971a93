#include "plait/nn/sequences/recurrent_layers.h"

#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/function_ref.h"
#include "plait/nn/initialization.h"
#include "plait/nn/inside/layer_parts.h"
#include "plait/nn/inside/sequence_parts.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/neural/activation.h"
#include "plait/ops/neural/normalization.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/transform/control/control.h"

namespace plait::nn {
namespace {

using States = std::vector<Tensor>;  // h first
using Recurrence = FunctionRef<Tensor(const Tensor& h)>;

// Differences between RNN, GRU and LSTM. The recurrence is weight_hh h, with bias_hh unless that is
// added to the inputs, before the scan.
struct CellKind {
  int64_t gates;  // the rows of the weights are gates · hidden_size
  size_t states;
  bool adds_bias_to_inputs;
  States (*step)(const Tensor& inputs, const States& states, Recurrence recurrence);
};

constexpr CellKind kTanh{1, 1, true,
                         [](const Tensor& inputs, const States& states, Recurrence hidden) {
                           return States{tanh(inputs + hidden(states[0]))};
                         }};
constexpr CellKind kRelu{1, 1, true,
                         [](const Tensor& inputs, const States& states, Recurrence hidden) {
                           return States{relu(inputs + hidden(states[0]))};
                         }};

States gru_step(const Tensor& inputs, const States& states, Recurrence recurrence) {
  const Tensor& h = states[0];
  const std::vector<Tensor> x = split(inputs, 3, -1), own = split(recurrence(h), 3, -1);
  const Tensor reset = sigmoid(x[0] + own[0]), update = sigmoid(x[1] + own[1]);
  const Tensor next = tanh(x[2] + reset * own[2]);
  return {next + update * (h - next)};
}
constexpr CellKind kGRU{3, 1, false, gru_step};

States lstm_step(const Tensor& inputs, const States& states, Recurrence recurrence) {
  const std::vector<Tensor> gates = split(inputs + recurrence(states[0]), 4, -1);
  const Tensor c = sigmoid(gates[1]) * states[1] + sigmoid(gates[0]) * tanh(gates[2]);
  return {sigmoid(gates[3]) * tanh(c), c};
}
constexpr CellKind kLSTM{4, 2, true, lstm_step};

const CellKind& cell_kind_of(RNNNonlinearity nonlinearity) {
  return nonlinearity == RNNNonlinearity::tanh ? kTanh : kRelu;
}

// The weights of one layer in one direction; empty tensors for those that it lacks.
struct CellWeights {
  Tensor weight_ih, weight_hh, bias_ih, bias_hh, weight_hr;

  // The part of the gates that depends on the inputs, of one step or of all.
  Tensor inputs(const CellKind& kind, const Tensor& x) const {
    return linear(x, weight_ih, bias_ih && kind.adds_bias_to_inputs ? bias_ih + bias_hh : bias_ih);
  }
  States step(const CellKind& kind, const Tensor& inputs, const States& states) const {
    const auto recurrence = [&](const Tensor& h) {
      return linear(h, weight_hh, kind.adds_bias_to_inputs ? Tensor() : bias_hh);
    };
    States next = kind.step(inputs, states, recurrence);
    if (weight_hr) next[0] = linear(next[0], weight_hr);
    return next;
  }
};

// ---- Initial weights.

using NamedShape = std::pair<std::string, Shape>;

std::vector<NamedShape> shapes_of(const CellKind& kind, int64_t inputs, int64_t hidden_size,
                                  bool bias, int64_t proj_size, const std::string& suffix) {
  const int64_t rows = kind.gates * hidden_size;
  std::vector<NamedShape> shapes{
      {"weight_ih" + suffix, {rows, inputs}},
      {"weight_hh" + suffix, {rows, proj_size == 0 ? hidden_size : proj_size}}};
  if (bias)
    shapes.insert(shapes.end(), {{"bias_ih" + suffix, {rows}}, {"bias_hh" + suffix, {rows}}});
  if (proj_size != 0) shapes.push_back({"weight_hr" + suffix, {proj_size, hidden_size}});
  return shapes;
}

// PyTorch's default: all are uniform in ±1/√hidden_size.
std::map<std::string, Tensor> drawn(const Tensor& key, const std::vector<NamedShape>& shapes,
                                    int64_t hidden_size, DType dtype) {
  const Tensor keys = keys_of(key, static_cast<int64_t>(shapes.size()));
  const double bound = 1 / std::sqrt(static_cast<double>(hidden_size));
  std::map<std::string, Tensor> weights;
  for (size_t i = 0; i < shapes.size(); ++i) {
    weights.emplace(shapes[i].first, uniform(keys[i], shapes[i].second, bound, dtype));
  }
  return weights;
}

void expect_input_and_hidden(int64_t input_size, int64_t hidden_size) {
  expect_whole("input_size", input_size);
  expect_whole("hidden_size", hidden_size, 1);
}

// ---- Checks of calls.

void expect_input(const Tensor& x, Dim input_size, size_t least_rank) {
  const bool fits =
      (x.rank() == least_rank || x.rank() == least_rank + 1) && !differ(x.shape(-1), input_size);
  if (fits) return;
  throw ShapeError("the input is {}, expected {} or {} dimensions, the last of {}", x.type().text(),
                   least_rank, least_rank + 1, input_size);
}

bool may_equal(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return false;
  for (size_t i = 0; i < a.rank(); ++i) {
    if (differ(a[i], b[i])) return false;
  }
  return true;
}

// Zeros for initial states that are not given.
void prepare(States& states, std::span<const Shape> shapes, DType dtype) {
  for (size_t i = 0; i < states.size(); ++i) {
    if (!states[i]) {
      states[i] = zeros(shapes[i], dtype);
    } else if (!may_equal(states[i].shape(), shapes[i])) {
      throw ShapeError("the initial state {} is {}, expected {}", i == 0 ? 'h' : 'c',
                       states[i].type().text(), shapes[i].text());
    }
  }
}

DType dtype_with(const Tensor& x, const Tensor& weight) {
  return promote(x.dtype(), weight.dtype());
}

// ---- Cells.

template <class Cell>
Cell cell_of(const CellKind& kind, const Tensor& key, int64_t input_size, int64_t hidden_size,
             bool bias, DType dtype) {
  expect_input_and_hidden(input_size, hidden_size);
  auto weights =
      drawn(key, shapes_of(kind, input_size, hidden_size, bias, 0, ""), hidden_size, dtype);
  Cell cell{.weight_ih = weights["weight_ih"],
            .weight_hh = weights["weight_hh"],
            .bias_ih = {},
            .bias_hh = {}};
  if (bias) {
    cell.bias_ih = weights["bias_ih"];
    cell.bias_hh = weights["bias_hh"];
  }
  return cell;
}

template <class Cell>
States run_cell(const CellKind& kind, const Cell& cell, const Tensor& x, States states) {
  expect_input(x, cell.weight_ih.shape(1), 1);
  Shape shape(x.shape().dims().first(x.rank() - 1));
  shape.append(cell.weight_hh.shape(1));
  prepare(states, std::vector<Shape>(states.size(), shape), dtype_with(x, cell.weight_hh));
  const CellWeights weights{.weight_ih = cell.weight_ih,
                            .weight_hh = cell.weight_hh,
                            .bias_ih = or_empty(cell.bias_ih),
                            .bias_hh = or_empty(cell.bias_hh),
                            .weight_hr = {}};
  return weights.step(kind, weights.inputs(kind, x), states);
}

// ---- Layers.

std::vector<std::string> suffixes_of(const RecurrentLayers& layers) {
  std::vector<std::string> suffixes;
  for (int64_t layer = 0; layer < layers.num_layers; ++layer) {
    const std::string suffix = "_l" + std::to_string(layer);
    suffixes.push_back(suffix);
    if (layers.bidirectional) suffixes.push_back(suffix + "_reverse");
  }
  return suffixes;
}

template <class Layers, class Options>
Layers layers_of(const CellKind& kind, const Tensor& key, int64_t input_size, int64_t hidden_size,
                 const Options& options, int64_t proj_size = 0) {
  expect_input_and_hidden(input_size, hidden_size);
  expect_whole("num_layers", options.num_layers, 1, kMostLayers);
  if (proj_size < 0 || proj_size >= hidden_size) {
    throw ValueError("proj_size is {}, expected 0, for no projection, or less than hidden_size, {}",
                     proj_size, hidden_size);
  }
  expect_probability("dropout", options.dropout);
  Layers made;
  made.input_size = input_size;
  made.hidden_size = hidden_size;
  made.num_layers = options.num_layers;
  made.batch_first = options.batch_first;
  made.dropout = options.dropout;
  made.bidirectional = options.bidirectional;
  const int64_t directions = options.bidirectional ? 2 : 1;
  const int64_t outputs = directions * (proj_size == 0 ? hidden_size : proj_size);
  std::vector<NamedShape> shapes;
  for (const std::string& suffix : suffixes_of(made)) {
    const bool is_first = suffix.starts_with("_l0");
    for (NamedShape& each : shapes_of(kind, is_first ? input_size : outputs, hidden_size,
                                      options.bias, proj_size, suffix)) {
      shapes.push_back(std::move(each));
    }
  }
  made.weights = drawn(key, shapes, hidden_size, options.dtype);
  return made;
}

CellWeights weights_at(const RecurrentLayers& layers, const std::string& suffix) {
  const auto named = [&](const std::string& name, bool is_needed = false) {
    const auto found = layers.weights.find(name + suffix);
    if (found != layers.weights.end()) return found->second;
    if (is_needed) throw KeyError("the weights lack {}", name + suffix);
    return Tensor();
  };
  return {.weight_ih = named("weight_ih", true),
          .weight_hh = named("weight_hh", true),
          .bias_ih = named("bias_ih"),
          .bias_hh = named("bias_hh"),
          .weight_hr = named("weight_hr")};
}

// True where a step is a part of its sequence: [steps, batch, 1]. Empty if all are.
std::optional<Tensor> steps_within(const Tensor& given, const Tensor& x) {
  if (!given) return {};
  const Tensor lengths = indices_beside(x, given);
  if (x.rank() != 3 || lengths.rank() != 1 || !is_integer(lengths.dtype())) {
    throw ValueError("lengths is {}, expected one integer for each sequence of a batch",
                     lengths.type().text());
  }
  const Tensor is_outside = any(logical_or(less(lengths, 0), greater(lengths, x.shape(0))));
  if (!is_outside.is_traced() && is_outside.item<bool>()) {
    throw ValueError("lengths are {}, expected numbers from 0 to the {} steps", lengths.text(),
                     x.shape(0).text());
  }
  return expand_dims(less(expand_dims(iota(x.shape(0)), 1), lengths), -1);
}

// One layer in one direction: the last states, and the outputs of all steps. Where a step is not
// within its sequence, the states remain and the output is 0; so the reverse direction begins at
// the end of each sequence.
std::pair<States, Tensor> scanned(const CellKind& kind, const CellWeights& weights, const Tensor& x,
                                  const States& states, const std::optional<Tensor>& within,
                                  bool reverse) {
  using Slices = std::pair<Tensor, std::optional<Tensor>>;
  const auto step = [&](const States& before, const Slices& slice) {
    States next = weights.step(kind, slice.first, before);
    Tensor output = next[0];
    if (slice.second) {
      output = where(*slice.second, output, 0);
      for (size_t i = 0; i < next.size(); ++i) next[i] = where(*slice.second, next[i], before[i]);
    }
    return std::pair(std::move(next), std::move(output));
  };
  return scan(step, states, Slices(weights.inputs(kind, x), within), {.reverse = reverse});
}

struct Ran {
  Tensor output;
  States states;
};

// Scans one layer after the other over inputs [steps, …, input_size].
Ran run_layers(const CellKind& kind, const RecurrentLayers& layers, Tensor x, const States& begin,
               const RecurrentCall& call) {
  const std::optional<Tensor> within = steps_within(call.lengths, x);
  if (within) x = where(*within, x, 0);  // NaN in the padding would reach gradients
  const Drop drop{layers.dropout, layers.training};
  const std::vector<Tensor> keys = drop.keys(call.key, layers.num_layers - 1);
  std::vector<States> last(begin.size());
  std::vector<Tensor> outputs;
  const std::vector<std::string> suffixes = suffixes_of(layers);
  const size_t directions = layers.bidirectional ? 2 : 1;
  for (size_t place = 0; place < suffixes.size(); ++place) {
    States states;
    for (const Tensor& each : begin) states.push_back(each[place]);
    auto [end, output] = scanned(kind, weights_at(layers, suffixes[place]), x, states, within,
                                 place % directions == 1);
    for (size_t i = 0; i < end.size(); ++i) last[i].push_back(end[i]);
    outputs.push_back(std::move(output));
    if (outputs.size() < directions) continue;
    x = directions == 1 ? outputs[0] : concat(outputs, -1);
    outputs.clear();
    if (place + 1 < suffixes.size()) x = drop(x, keys[place / directions]);
  }
  Ran ran{.output = std::move(x), .states = {}};
  for (const States& each : last) ran.states.push_back(stack(each));
  return ran;
}

Ran run(const CellKind& kind, const RecurrentLayers& layers, int64_t proj_size, Tensor x,
        States states, const RecurrentCall& call) {
  expect_input(x, layers.input_size, 2);
  const bool has_batch = x.rank() == 3;
  const int64_t sizes[] = {proj_size == 0 ? layers.hidden_size : proj_size, layers.hidden_size};
  std::vector<Shape> shapes;
  for (size_t i = 0; i < states.size(); ++i) {
    Shape shape{layers.num_layers * (layers.bidirectional ? 2 : 1)};
    if (has_batch) shape.append(x.shape(layers.batch_first ? 0 : 1));
    shape.append(sizes[i]);
    shapes.push_back(std::move(shape));
  }
  prepare(states, shapes, dtype_with(x, weights_at(layers, "_l0").weight_hh));
  const bool swaps = layers.batch_first && has_batch;
  if (swaps) x = swapaxes(x, 0, 1);
  Ran ran = run_layers(kind, layers, x, states, call);
  if (swaps) ran.output = swapaxes(ran.output, 0, 1);
  return ran;
}

std::pair<Tensor, Tensor> with_one_state(const Ran& ran) { return {ran.output, ran.states[0]}; }

}  // namespace

RNNCell RNNCell::init(const Tensor& key, int64_t input_size, int64_t hidden_size,
                      const RNNCellOptions& options) {
  const Call call("nn::RNNCell");
  RNNCell cell = cell_of<RNNCell>(kTanh, key, input_size, hidden_size, options.bias, options.dtype);
  cell.nonlinearity = options.nonlinearity;
  return cell;
}

Tensor RNNCell::operator()(const Tensor& input, const Tensor& h) const {
  const Call call("nn::RNNCell", input);
  return run_cell(cell_kind_of(nonlinearity), *this, input, {h})[0];
}

GRUCell GRUCell::init(const Tensor& key, int64_t input_size, int64_t hidden_size,
                      const CellOptions& options) {
  const Call call("nn::GRUCell");
  return cell_of<GRUCell>(kGRU, key, input_size, hidden_size, options.bias, options.dtype);
}

Tensor GRUCell::operator()(const Tensor& input, const Tensor& h) const {
  const Call call("nn::GRUCell", input);
  return run_cell(kGRU, *this, input, {h})[0];
}

LSTMCell LSTMCell::init(const Tensor& key, int64_t input_size, int64_t hidden_size,
                        const CellOptions& options) {
  const Call call("nn::LSTMCell");
  return cell_of<LSTMCell>(kLSTM, key, input_size, hidden_size, options.bias, options.dtype);
}

LSTMState LSTMCell::operator()(const Tensor& input, const LSTMState& state) const {
  const Call call("nn::LSTMCell", input);
  const States next = run_cell(kLSTM, *this, input, {state.first, state.second});
  return {next[0], next[1]};
}

RNN RNN::init(const Tensor& key, int64_t input_size, int64_t hidden_size,
              const RNNOptions& options) {
  const Call call("nn::RNN");
  RNN made = layers_of<RNN>(kTanh, key, input_size, hidden_size, options);
  made.nonlinearity = options.nonlinearity;
  return made;
}

std::pair<Tensor, Tensor> RNN::operator()(const Tensor& input, const Tensor& h,
                                          const RecurrentCall& given) const {
  const Call call("nn::RNN", input);
  return with_one_state(run(cell_kind_of(nonlinearity), *this, 0, input, {h}, given));
}

GRU GRU::init(const Tensor& key, int64_t input_size, int64_t hidden_size,
              const GRUOptions& options) {
  const Call call("nn::GRU");
  return layers_of<GRU>(kGRU, key, input_size, hidden_size, options);
}

std::pair<Tensor, Tensor> GRU::operator()(const Tensor& input, const Tensor& h,
                                          const RecurrentCall& given) const {
  const Call call("nn::GRU", input);
  return with_one_state(run(kGRU, *this, 0, input, {h}, given));
}

LSTM LSTM::init(const Tensor& key, int64_t input_size, int64_t hidden_size,
                const LSTMOptions& options) {
  const Call call("nn::LSTM");
  LSTM made = layers_of<LSTM>(kLSTM, key, input_size, hidden_size, options, options.proj_size);
  made.proj_size = options.proj_size;
  return made;
}

std::pair<Tensor, LSTMState> LSTM::operator()(const Tensor& input, const LSTMState& state,
                                              const RecurrentCall& given) const {
  const Call call("nn::LSTM", input);
  const Ran ran = run(kLSTM, *this, proj_size, input, {state.first, state.second}, given);
  return {ran.output, {ran.states[0], ran.states[1]}};
}

}  // namespace plait::nn
