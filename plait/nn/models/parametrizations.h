// Weights that are computed from other tensors each time the layer is called: the norms of weights
// and the spectral norm, around any layer with a field `weight`, a Tensor or an optional one.
//
//   auto layer = nn::weight_norm(nn::Linear::init(key, 3, 4));
//   nn::state(layer);   // bias, parametrizations.weight.original0,
//   parametrizations.weight.original1 nn::Linear plain = nn::remove_parametrizations(layer);
//
// Names of tensors are PyTorch's. Meanwhile the field `weight` is an empty tensor, outside of the
// tree. models/by_path.h has the same for weights of a whole model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "plait/core/trees/reflect.h"
#include "plait/nn/buffers.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

template <size_t rank>
struct ConvTranspose;

namespace parametrizations {

// A reference to a field of the layer.
template <class Layer, size_t index>
struct FieldOf {
  template <class Object>
  auto& operator()(Object& object) const {
    using Base = std::conditional_t<std::is_const_v<Object>, const Layer, Layer>;
    const auto address_of = [](auto&... fields) {
      return std::get<index>(std::tuple{std::addressof(fields)...});
    };
    return *reflect::with_fields<reflect::kFieldCount<Layer>>(static_cast<Base&>(object),
                                                              address_of);
  }
};

// The name of a field and the function that gives it; nothing for the weight, which the tree lacks
// while it is computed.
template <class Layer, size_t index>
constexpr auto parts_of_field() {
  constexpr std::string_view name = reflect::field_name<Layer, index>();
  if constexpr (name == "weight") {
    return std::tuple<>();
  } else {
    return std::tuple(name, FieldOf<Layer, index>{});
  }
}

template <class Layer>
constexpr auto parts_without_weight() {
  static_assert(reflect::PlainAggregate<Layer>, "the layer must be a plain struct");
  return []<size_t... i>(std::index_sequence<i...>) {
    return std::tuple_cat(parts_of_field<Layer, i>()...);
  }(std::make_index_sequence<reflect::kFieldCount<Layer>>{});
}

}  // namespace parametrizations

// The weight in a call of a const layer. ValueError if the call would change the layer.
template <class Computed>
Tensor value_in_const(const Computed& computed) {
  return computed.value();
}

// A layer whose weight is computed. A Computed has `value()`, the weight, and `next()`, what takes
// its place when the layer is called; a const layer uses `value()` alone. ValueError, of the
// spectral norm, if that would lose a change.
template <class Layer, class Computed>
struct Parametrized : Layer {
  struct Parametrizations {
    Computed weight;
  };
  Parametrizations parametrizations;

  static constexpr auto fields() {
    return std::apply(
        [](const auto&... parts) {
          return plait::fields<Parametrized>(parts..., "parametrizations",
                                             &Parametrized::parametrizations);
        },
        nn::parametrizations::parts_without_weight<Layer>());
  }

  // The layer with this weight.
  Layer with_weight(Tensor weight) const {
    Layer layer = *this;
    layer.weight = std::move(weight);
    return layer;
  }

  template <class... Arguments>
  auto operator()(const Arguments&... arguments) const {
    const Layer layer = with_weight(value_in_const(parametrizations.weight));
    return layer(arguments...);
  }
  template <class... Arguments>
  auto operator()(const Arguments&... arguments) {
    parametrizations.weight = parametrizations.weight.next();
    Layer layer = with_weight(parametrizations.weight.value());
    auto result = layer(arguments...);
    static_cast<Layer&>(*this) = std::move(layer);
    this->weight = Tensor();
    return result;
  }
};

// The layer with the weight that a call would compute, as a plain tensor.
template <class Layer, class Computed>
[[nodiscard]] Layer remove_parametrizations(const Parametrized<Layer, Computed>& layer) {
  return layer.with_weight(layer.parametrizations.weight.next().value());
}

// NOLINTNEXTLINE(bugprone-return-const-ref-from-parameter): called with members
inline const Tensor& present(const Tensor& weight) { return weight; }
const Tensor& present(const std::optional<Tensor>& weight);  // ValueError if there is none

template <class Layer, class Computed>
[[nodiscard]] Parametrized<Layer, Computed> parametrized(Layer layer, Computed computed) {
  Parametrized<Layer, Computed> made{std::move(layer), {std::move(computed)}};
  made.weight = Tensor();
  return made;
}

// ---- Norms.

// g v / ‖v‖: the norm and the direction apart (Salimans and Kingma, 2016).
struct NormedWeight {
  Tensor original0;                // g, the norm of each slice
  Tensor original1;                // v
  std::optional<int64_t> dim = 0;  // axis of the slices; none: one norm of all

  // −1 means none, as in PyTorch.
  static NormedWeight of(const Tensor& weight, std::optional<int64_t> dim);
  Tensor value() const;
  NormedWeight next() const { return *this; }
};
template <class Layer>
using WeightNorm = Parametrized<Layer, NormedWeight>;

// The layer whose weight is g v / ‖v‖, with a g for each slice along `dim`.
template <class Layer>
[[nodiscard]] WeightNorm<Layer> weight_norm(Layer layer, std::optional<int64_t> dim = 0) {
  auto computed = NormedWeight::of(present(layer.weight), dim);
  return parametrized(std::move(layer), std::move(computed));
}

struct SpectralNormOptions {
  int64_t n_power_iterations = 1;
  double eps = 1e-12;
  std::optional<int64_t> dim = {};  // axis of the rows: 1 for transposed convolutions, else 0
};

// Estimates of the singular vectors to the largest singular value.
struct SpectralVectors {
  Buffer u, v;
  static constexpr auto fields() {
    return plait::fields<SpectralVectors>("_u", &SpectralVectors::u, "_v", &SpectralVectors::v);
  }
};
// A weight divided by its largest singular value, as a matrix (Miyato et al., 2018). In training,
// each call improves the estimate by power iterations.
struct SpectralWeight {
  Tensor original;
  std::optional<SpectralVectors> vectors;  // none for a vector, which is divided by its norm
  int64_t n_power_iterations = 1;
  int64_t dim = 0;
  double eps = 1e-12;
  bool training = true;

  static constexpr auto fields() {
    return plait::fields<SpectralWeight>(
        "original", &SpectralWeight::original, "0", &SpectralWeight::vectors, "n_power_iterations",
        &SpectralWeight::n_power_iterations, "dim", &SpectralWeight::dim, "eps",
        &SpectralWeight::eps, "training", &SpectralWeight::training);
  }
  // The vectors begin at random, and are improved by 15 iterations.
  static SpectralWeight of(const Tensor& key, const Tensor& weight, int64_t dim,
                           const SpectralNormOptions& options);
  Tensor value() const;
  [[nodiscard]] SpectralWeight next() const;
};
Tensor value_in_const(const SpectralWeight& computed);
template <class Layer>
using SpectralNorm = Parametrized<Layer, SpectralWeight>;

template <class Layer>
inline constexpr int64_t kRowsOfWeight = 0;
template <size_t rank>
inline constexpr int64_t kRowsOfWeight<ConvTranspose<rank>> = 1;

// The layer whose weight is divided by its largest singular value.
template <class Layer>
[[nodiscard]] SpectralNorm<Layer> spectral_norm(const Tensor& key, Layer layer,
                                                const SpectralNormOptions& options = {}) {
  auto computed = SpectralWeight::of(key, present(layer.weight),
                                     options.dim.value_or(kRowsOfWeight<Layer>), options);
  return parametrized(std::move(layer), std::move(computed));
}

}  // namespace plait::nn
