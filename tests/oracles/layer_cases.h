// Layers that layers_oracle.py compares with PyTorch's. A case is a name and a function that makes
// the layer; its tensors and inputs are given by the oracle:
//
//   const LayerCases kCases{
//       layer("linear", [](const Tensor& key) { return nn::Linear::init(key, 3, 4); }),
//       layer<2>("bilinear", ...),   // two inputs
//   };
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plait/nn/models/mode.h"
#include "plait/nn/models/state.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/tensor.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/jit.h"

namespace plait {

using Arrays = std::map<std::string, Array>;

inline constexpr DType kF64 = DType::f64;

struct LayerCase {
  std::string name;
  std::function<void(const Arrays& given, Arrays& results)> run;
};

// Registers cases.
struct LayerCases {
  LayerCases(std::initializer_list<LayerCase> cases);
};
const std::vector<LayerCase>& layer_cases();

// Runs all cases: FOLDER/<name>.npz has what is given, FOLDER/<name>.out.npz receives the results.
void run_layer_cases(const std::string& folder);

namespace layer_checks {

// The entries whose names begin with the prefix, without it, as f64 or integers.
nn::State tensors_with(const Arrays& given, const std::string& prefix);

// The sum of all results of floating type, each weighted by numbers that all differ.
Tensor weighted_sum(std::span<const Tensor> results);

template <class Tree>
void put(Arrays& results, const std::string& prefix, const Tree& tree) {
  for_each_leaf(tree, [&](std::string_view path, const Tensor& leaf) {
    if (leaf) results.insert_or_assign(prefix + std::string(path), leaf.array());
  });
}

template <size_t count>
auto inputs_of(const Arrays& given) {
  return [&]<size_t... i>(std::index_sequence<i...>) {
    return std::array<Tensor, count>{Tensor(given.at("input" + std::to_string(i)))...};
  }(std::make_index_sequence<count>());
}

template <size_t count, class Layer>
struct Check {
  using Inputs = std::array<Tensor, count>;

  static auto called(Layer model, const Inputs& inputs) {
    auto output = std::apply([&](const auto&... input) { return model(input...); }, inputs);
    return std::pair{std::move(output), std::move(model)};
  }
  // The pair has what is differentiated by: the layer and the first input.
  static Tensor loss(const std::pair<Layer, Tensor>& varied, Inputs inputs) {
    if (is_inexact(inputs[0].dtype())) inputs[0] = varied.second;
    return weighted_sum(tensors_of(called(varied.first, inputs).first));
  }
};

// Puts the outputs, the state after the call, and the gradients of the parameters and of the first
// input, each as computed eagerly and by jit.
template <size_t count, class Layer>
void run(Layer layer, const Arrays& given, Arrays& results) {
  using Check = Check<count, Layer>;
  const auto inputs = inputs_of<count>(given);
  layer = nn::load_state(std::move(layer), tensors_with(given, "state."));
  layer = given.contains("eval") ? nn::eval(std::move(layer)) : nn::train(std::move(layer));
  const bool follows_input = is_inexact(inputs[0].dtype());
  const std::pair<Layer, Tensor> varied{layer, follows_input ? inputs[0] : zeros({}, DType::f64)};
  const auto [output, after] = Check::called(layer, inputs);
  put(results, "output", output);
  put(results, "after.", after);
  const auto gradient = grad(Check::loss)(varied, inputs);
  put(results, "gradient.", gradient.first);
  if (follows_input) put(results, "input_gradient", gradient.second);
  const auto [jitted_output, jitted_after] = jit(Check::called)(layer, inputs);
  put(results, "jitted.output", jitted_output);
  put(results, "jitted.after.", jitted_after);
  put(results, "jitted.gradient.", jit(grad(Check::loss))(varied, inputs).first);
}

}  // namespace layer_checks

template <size_t inputs = 1, class Make>
LayerCase layer(std::string name, Make make) {
  return {std::move(name), [make](const Arrays& given, Arrays& results) {
            layer_checks::run<inputs>(make(random::key(0)), given, results);
          }};
}

}  // namespace plait
