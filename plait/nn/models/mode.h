// The mode of a model: training or not.
#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>

#include "plait/core/trees/reflect.h"
#include "plait/core/trees/tree.h"

namespace plait::nn {

template <class T>
void set_training(T& part, bool training) {
  using enum trees::Container;
  constexpr trees::Container container = trees::container_of<T>;
  const auto set = [&](auto& each) { set_training(each, training); };
  if constexpr (is_tree_leaf<T> || std::is_const_v<T>) {
    return;
  } else if constexpr (trees::is_buffers<T>) {
    set(trees::tree_of(part));
  } else if constexpr (container == tuple) {
    std::apply([&](auto&... each) { (set(each), ...); }, part);
  } else if constexpr (container == array || container == vector) {
    for (auto& each : part) set(each);
  } else if constexpr (container == map || container == unordered_map) {
    for (auto& [key, each] : part) set(each);
  } else if constexpr (container == optional) {
    if (part.has_value()) set(*part);
  } else if constexpr (container == variant) {
    if (!part.valueless_by_exception()) std::visit(set, part);
  } else if constexpr (reflect::Reflectable<T>) {
    reflect::for_each_field(part, [&](std::string_view name, auto& field) {
      if constexpr (std::is_same_v<std::remove_reference_t<decltype(field)>, bool>) {
        if (name == "training") field = training;
      } else {
        set(field);
      }
    });
  }
}

// The model with `training` set in all of its layers: dropout drops, and BatchNorm uses the
// statistics of the batch.
template <class Model>
[[nodiscard]] Model train(Model model) {
  set_training(model, true);
  return model;
}
template <class Model>
[[nodiscard]] Model eval(Model model) {
  set_training(model, false);
  return model;
}

}  // namespace plait::nn
