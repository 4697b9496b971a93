// Frozen parameters: without gradients, and left alone by optimizers.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plait/nn/buffers.h"
#include "plait/nn/models/state.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

// A tensor without elements: of the shape [sizes…, 0], so that vmap still finds the axes.
Tensor placeholder_of(const Tensor& tensor);

// A model, some of whose parameters are frozen. It is called like the model:
//
//   auto model = nn::freeze(classifier, {"encoder.*"});
//   auto [loss, gradients] = value_and_grad(loss_of)(model, batch);   // gradients of the others
template <class Model>
struct Frozen {
  Model trained;                         // with placeholders instead of the frozen tensors
  std::map<std::string, Buffer> frozen;  // by name

  // The model with all of its tensors.
  Model whole() const {
    Model model = trained;
    for_each_leaf(model, [&](std::string_view path, Tensor& tensor) {
      if (const auto found = frozen.find(std::string(path)); found != frozen.end()) {
        tensor = found->second;
      }
    });
    return model;
  }

  template <class... Arguments>
  auto operator()(const Arguments&... arguments) const {
    const Model model = whole();
    return model(arguments...);
  }
  // May change the model, as BatchNorm's running statistics.
  template <class... Arguments>
  auto operator()(const Arguments&... arguments) {
    Model model = whole();
    auto result = model(arguments...);
    for_each_leaf(model, [&](std::string_view path, Tensor& tensor) {
      if (const auto found = frozen.find(std::string(path)); found != frozen.end()) {
        found->second = std::exchange(tensor, placeholder_of(tensor));
      }
    });
    trained = std::move(model);
    return result;
  }
};

// The places whose names match one of the patterns. ValueError if a pattern matches none.
std::vector<Place> chosen_places(std::string_view function, std::span<const Place> places,
                                 std::span<const std::string> patterns);

// The model with the parameters frozen whose names match one of the patterns ("encoder.*"); without
// patterns all are.
template <class Model>
[[nodiscard]] Frozen<Model> freeze(Model model, const std::vector<std::string>& patterns = {"*"}) {
  Frozen<Model> made{.trained = std::move(model), .frozen = {}};
  for (const Place& place : chosen_places("nn::freeze", places_of(made.trained), patterns)) {
    made.frozen.emplace(place.name, std::exchange(*place.tensor, placeholder_of(*place.tensor)));
  }
  return made;
}

// The model with all of its parameters trained again.
template <class Model>
[[nodiscard]] Model unfreeze(const Frozen<Model>& model) {
  return model.whole();
}

}  // namespace plait::nn
