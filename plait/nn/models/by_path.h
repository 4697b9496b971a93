// Weights of a model that are computed from other tensors each time it is called, chosen by their
// names: low-rank adapters, quantized weights, weight and spectral norm.
//
//   auto model = nn::lora(key, classifier, {"encoder.*.weight"}, {.rank = 4});
//   auto [loss, gradients] = value_and_grad(loss_of)(model, batch);   // of all but these weights
//   Classifier merged = model.whole();    // model.rest and model.parametrizations stay apart
//
// Layers with weights of that kind are in adapters.h, quantized.h and parametrizations.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plait/nn/buffers.h"
#include "plait/nn/models/adapters.h"
#include "plait/nn/models/freeze.h"
#include "plait/nn/models/parametrizations.h"
#include "plait/nn/models/quantized.h"
#include "plait/ops/random/random.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

// A model that is called like the model itself. A Computed is that of Parametrized.
template <class Model, class Computed>
struct ParametrizedModel {
  Model rest;                                        // with placeholders instead of these weights
  std::map<std::string, Computed> parametrizations;  // by the names of the weights

  // The model with the weights that a call would compute, as plain tensors.
  Model whole() const {
    return with([](const Computed& computed) { return computed.next().value(); });
  }
  // The model with value_of(computed) as each of these weights.
  template <class ValueOf>
  Model with(const ValueOf& value_of) const {
    Model model = rest;
    for_each_leaf(model, [&](std::string_view path, Tensor& tensor) {
      if (const auto found = parametrizations.find(std::string(path));
          found != parametrizations.end()) {
        tensor = std::invoke(value_of, found->second);
      }
    });
    return model;
  }

  template <class... Arguments>
  auto operator()(const Arguments&... arguments) const {
    const Model model = with([](const Computed& computed) { return value_in_const(computed); });
    return model(arguments...);
  }
  // May change the model, as BatchNorm's running statistics, and the spectral norm's vectors.
  template <class... Arguments>
  auto operator()(const Arguments&... arguments) {
    for (auto& [name, computed] : parametrizations) computed = computed.next();
    Model model = with(&Computed::value);
    auto result = model(arguments...);
    for_each_leaf(model, [&](std::string_view path, Tensor& tensor) {
      if (parametrizations.contains(std::string(path))) tensor = placeholder_of(tensor);
    });
    rest = std::move(model);
    return result;
  }
};

// The model whose weights with names that match one of the patterns are computed: by
// make(weight). ValueError if a pattern matches none.
template <class Model, class Make>
[[nodiscard]] auto parametrized(Model model, const std::vector<std::string>& patterns,
                                const Make& make) {
  using Computed = decltype(make(std::declval<const Tensor&>()));
  ParametrizedModel<Model, Computed> made{.rest = std::move(model), .parametrizations = {}};
  for (const Place& place : chosen_places("nn::parametrized", places_of(made.rest), patterns)) {
    made.parametrizations.emplace(place.name, make(*place.tensor));
    *place.tensor = placeholder_of(*place.tensor);
  }
  return made;
}

// LowRankWeight in place of weights: what is trained of them is a product of low rank.
template <class Model>
[[nodiscard]] auto lora(const Tensor& key, Model model, const std::vector<std::string>& patterns,
                        const LoRAOptions& options = {}) {
  int64_t count = 0;
  return parametrized(std::move(model), patterns, [&](const Tensor& weight) {
    return LowRankWeight::of(random::fold_in(key, count++), weight, options);
  });
}

// Matrices as codes of 8 or 4 bits. They are not trained.
template <class Model>
[[nodiscard]] auto quantize(Model model, const std::vector<std::string>& patterns,
                            const QuantizationOptions& options = {}) {
  return parametrized(std::move(model), patterns,
                      [&](const Tensor& weight) { return QuantizedMatrix::of(weight, options); });
}

template <class Model>
[[nodiscard]] auto weight_norms(Model model, const std::vector<std::string>& patterns,
                                std::optional<int64_t> dim = 0) {
  return parametrized(std::move(model), patterns,
                      [&](const Tensor& weight) { return NormedWeight::of(weight, dim); });
}

// The rows are along dim 0 by default, also of transposed convolutions.
template <class Model>
[[nodiscard]] auto spectral_norms(const Tensor& key, Model model,
                                  const std::vector<std::string>& patterns,
                                  const SpectralNormOptions& options = {}) {
  int64_t count = 0;
  return parametrized(std::move(model), patterns, [&](const Tensor& weight) {
    return SpectralWeight::of(random::fold_in(key, count++), weight, options.dim.value_or(0),
                              options);
  });
}

}  // namespace plait::nn
