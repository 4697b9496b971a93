// The parameters of a model as one vector, as torch.nn.utils has them.
//
//   const Tensor vector = nn::parameters_to_vector(model);
//   model = nn::vector_to_parameters(vector - 0.1 * slope, model);
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plait/nn/models/state.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

// True if it can have a gradient: not empty, and of a floating or complex dtype.
bool is_parameter(const Tensor& value);

// The places of parameters in the order of the tree, without buffers, integers and empty tensors.
template <class Model>
std::vector<Place> parameter_places(Model& model) {
  std::vector<Place> places;
  for_each_leaf_and_role(model, [&](std::string_view path, Tensor& tensor, bool is_buffer) {
    if (!is_buffer && is_parameter(tensor)) places.push_back({std::string(path), &tensor});
  });
  return places;
}

template <class Model>
std::vector<Tensor> parameters_in_order(const Model& model) {
  std::vector<Tensor> found;
  const auto add = [&](std::string_view, const Tensor& tensor, bool is_buffer) {
    if (!is_buffer && is_parameter(tensor)) found.push_back(tensor);
  };
  for_each_leaf_and_role(model, add);
  return found;
}

namespace vectors {

Tensor joined(const std::vector<Tensor>& parameters);
// Tensors like these with the numbers of a vector.
std::vector<Tensor> split(const Tensor& vector, const std::vector<Tensor>& like);

}  // namespace vectors

// All parameters of a model, or of another tree, as one vector, in the order of its fields. Of a
// Frozen, those that are trained; of its whole(), all.
template <class Model>
Tensor parameters_to_vector(const Model& model) {
  return vectors::joined(parameters_in_order(model));
}

// The model whose parameters are the numbers of a vector, in that order and in the dtypes that they
// have.
template <class Model>
[[nodiscard]] Model vector_to_parameters(const Tensor& vector, Model model) {
  const std::vector<Place> places = parameter_places(model);
  std::vector<Tensor> like;
  for (const Place& place : places) like.push_back(*place.tensor);
  std::vector<Tensor> parts = vectors::split(vector, like);
  for (size_t i = 0; i < places.size(); ++i) *places[i].tensor = std::move(parts[i]);
  return model;
}

}  // namespace plait::nn
