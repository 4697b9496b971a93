// The tensors of a model by name: reading and loading them.
//
//   nn::State state = nn::state(model);              // {"0.weight": …}
//   model = nn::load_state(model, state, {.rename = {{"transformer.*", "*"}}});
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/trees/renaming.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

using State = std::map<std::string, Tensor>;

// A pattern that matches no name is an error.
struct LoadOptions {
  Renaming rename = {};                       // names of the state to those of the model
  std::vector<std::string> missing = {};      // patterns of names that the state may lack
  std::vector<std::string> superfluous = {};  // patterns of names that the model may lack
};

// A place in a model for a tensor.
struct Place {
  std::string name;
  Tensor* tensor;
};

// Replaces the tensors by those of the state, converted to their dtypes. ValueError, which changes
// nothing, unless names and shapes agree.
void load_places(std::span<const Place> places, const State& state, const LoadOptions& options);

template <class Model>
std::vector<Place> places_of(Model& model) {
  std::vector<Place> places;
  for_each_leaf(model, [&](std::string_view path, Tensor& tensor) {
    if (tensor) places.push_back({std::string(path), &tensor});
  });
  return places;
}

// The tensors of a model by name, parameters and buffers.
template <class Model>
State state(const Model& model) {
  State found;
  for_each_leaf(model, [&](std::string_view path, const Tensor& tensor) {
    if (tensor) found.emplace(path, tensor);
  });
  return found;
}

// The model with the tensors of a state, converted to its dtypes. ValueError unless names and
// shapes agree: it lists what is missing, superfluous or of another shape.
template <class Model>
[[nodiscard]] Model load_state(Model model, const State& state, const LoadOptions& options = {}) {
  load_places(places_of(model), state, options);
  return model;
}

}  // namespace plait::nn
