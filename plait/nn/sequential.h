// Layers one after the other, and the mode of all layers of a model.
#pragma once

#include <optional>
#include <ranges>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "plait/core/trees/reflect.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

// Calls each layer, or function of a tensor, with the result of the one before:
//
//   auto net = nn::Sequential{nn::Linear::init(keys[0], 784, 128), relu,
//                             nn::Linear::init(keys[1], 128, 10)};
//
// The paths of its tensors begin with "layers.0.". A call that is not const may change the layers,
// as that of BatchNorm does.
template <class... Layers>
struct Sequential {
  std::tuple<Layers...> layers;

  Sequential(Layers... given) : layers(std::move(given)...) {}  // NOLINT
  static constexpr auto fields() {
    return plait::fields<Sequential>("layers", &Sequential::layers);
  }

  Tensor operator()(const Tensor& x) { return run(layers, x); }
  Tensor operator()(const Tensor& x) const { return run(layers, x); }

 private:
  static Tensor run(auto& layers, Tensor x) {
    std::apply([&](auto&... layer) { ((x = layer(x)), ...); }, layers);
    return x;
  }
};

template <class T>
void set_training(T& part, bool training) {
  if constexpr (std::is_same_v<T, Tensor>) {
    return;
  } else if constexpr (reflect::Reflectable<T>) {
    reflect::for_each_field(part, [&](std::string_view name, auto& field) {
      if constexpr (std::is_same_v<std::remove_reference_t<decltype(field)>, bool>) {
        if (name == "training") field = training;
      } else {
        set_training(field, training);
      }
    });
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    std::apply([&](auto&... each) { (set_training(each, training), ...); }, part);
  } else if constexpr (requires {
                         part.has_value();
                         *part;
                       }) {
    if (part.has_value()) set_training(*part, training);
  } else if constexpr (requires { typename T::mapped_type; }) {
    for (auto& [key, each] : part) set_training(each, training);
  } else if constexpr (std::ranges::range<T>) {
    if constexpr (std::is_class_v<std::ranges::range_value_t<T>>) {
      for (auto& each : part) set_training(each, training);
    }
  }
}

// The model with `training` set in all of its layers: dropout drops, and BatchNorm uses the
// statistics of the batch.
template <class Model>
Model train(Model model) {
  set_training(model, true);
  return model;
}
template <class Model>
Model eval(Model model) {
  set_training(model, false);
  return model;
}

}  // namespace plait::nn
