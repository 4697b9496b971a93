// Layers that an oracle's case calls with more than its inputs.
#pragma once

#include <utility>

namespace plait {

// A layer that call(layer, inputs…) calls. Its tensors are named "layer.…".
template <class Layer, class Call>
struct CalledLayer {
  Layer layer;
  Call call;

  template <class... Inputs>
  auto operator()(const Inputs&... inputs) const {
    return call(layer, inputs...);
  }
};

template <class Layer, class Call>
CalledLayer<Layer, Call> called(Layer layer, Call call) {
  return {std::move(layer), call};
}

}  // namespace plait
