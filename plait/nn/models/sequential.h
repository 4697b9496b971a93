// Layers one after the other.
#pragma once

#include <tuple>
#include <utility>

#include "plait/tensor/tensor.h"

namespace plait::nn {

// Calls each layer, or function of a tensor, with the result of the one before:
//
//   auto net = nn::Sequential{nn::Linear::init(keys[0], 784, 128), relu,
//                             nn::Linear::init(keys[1], 128, 10)};
//
// Its parts are named by their numbers: "0.weight". A call that is not const may change the layers,
// as that of BatchNorm does.
template <class... Layers>
struct Sequential : std::tuple<Layers...> {
  Sequential(Layers... given) : std::tuple<Layers...>(std::move(given)...) {}  // NOLINT

  Tensor operator()(const Tensor& x) { return run(*this, x); }
  Tensor operator()(const Tensor& x) const { return run(*this, x); }

 private:
  static Tensor run(auto& self, Tensor x) {
    std::apply([&](auto&... layer) { ((x = layer(x)), ...); }, layers_of(self));
    return x;
  }
  static std::tuple<Layers...>& layers_of(std::tuple<Layers...>& self) { return self; }
  static const std::tuple<Layers...>& layers_of(const std::tuple<Layers...>& self) {
    return self;  // NOLINT(bugprone-return-const-ref-from-parameter): never a temporary
  }
};

}  // namespace plait::nn

template <class... Layers>
struct std::tuple_size<plait::nn::Sequential<Layers...>> : std::tuple_size<std::tuple<Layers...>> {
};
template <std::size_t index, class... Layers>
struct std::tuple_element<index, plait::nn::Sequential<Layers...>>
    : std::tuple_element<index, std::tuple<Layers...>> {};
template <class... Layers>
inline constexpr plait::trees::Container
    plait::trees::container_of<plait::nn::Sequential<Layers...>> = plait::trees::Container::tuple;
