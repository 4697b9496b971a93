// The mode of a model: training or not.
#pragma once

#include <optional>
#include <ranges>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "plait/core/trees/reflect.h"
#include "plait/core/trees/tree.h"

namespace plait::nn {

template <class T>
void set_training(T& part, bool training) {
  if constexpr (is_tree_leaf<T>) {
    return;
  } else if constexpr (trees::is_buffers<T>) {
    set_training(trees::tree_of(part), training);
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
