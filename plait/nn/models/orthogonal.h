// Orthogonal weights, which are computed from others: PyTorch's parametrizations.orthogonal.
//
//   auto layer = nn::orthogonal(nn::Linear::init(key, 3, 4));
//   nn::state(layer);   // bias, parametrizations.weight.original, parametrizations.weight.0.base
//   nn::Linear plain = nn::remove_parametrizations(layer);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plait/core/trees/reflect.h"
#include "plait/nn/buffers.h"
#include "plait/nn/models/by_path.h"
#include "plait/nn/models/parametrizations.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

// From any matrix to one with orthogonal columns: the exponential of a skew matrix, Cayley's map of
// it, or a product of reflections, which is for real numbers.
enum class OrthogonalMap : uint8_t { matrix_exp, cayley, householder };

struct OrthogonalOptions {
  // By default matrix_exp for square and complex matrices, else householder.
  std::optional<OrthogonalMap> orthogonal_map = {};
  // The weight begins as the orthogonal factor of its value; without, only by householder.
  bool use_trivialization = true;
};

// The matrix by which that of the map is multiplied, so that −I stands for the first weight.
struct OrthogonalBase {
  Buffer base;
};
// A weight [..., rows, columns] with orthogonal columns, or rows if it has more columns than rows.
// Complex ones are unitary.
struct OrthogonalWeight {
  Tensor original;
  std::optional<OrthogonalBase> trivialized = {};
  OrthogonalMap orthogonal_map = OrthogonalMap::matrix_exp;

  static constexpr auto fields() {
    return plait::fields<OrthogonalWeight>("original", &OrthogonalWeight::original, "0",
                                           &OrthogonalWeight::trivialized, "orthogonal_map",
                                           &OrthogonalWeight::orthogonal_map);
  }
  // ShapeError below two dimensions; TypeError for householder of complex numbers.
  static OrthogonalWeight of(const Tensor& weight, const OrthogonalOptions& options = {});
  Tensor value() const;
  const OrthogonalWeight& next() const { return *this; }
};
template <class Layer>
using Orthogonal = Parametrized<Layer, OrthogonalWeight>;

// The layer whose weight is orthogonal.
template <class Layer>
  requires requires(const Layer& layer) { layer.weight; }
[[nodiscard]] Orthogonal<Layer> orthogonal(Layer layer, const OrthogonalOptions& options = {}) {
  auto computed = OrthogonalWeight::of(present(layer.weight), options);
  return parametrized(std::move(layer), std::move(computed));
}

// The model whose weights with names that match the patterns are orthogonal.
template <class Model>
[[nodiscard]] auto orthogonals(Model model, const std::vector<std::string>& patterns,
                               const OrthogonalOptions& options = {}) {
  return parametrized(std::move(model), patterns,
                      [&](const Tensor& weight) { return OrthogonalWeight::of(weight, options); });
}

}  // namespace plait::nn
