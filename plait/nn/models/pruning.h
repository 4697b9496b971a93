// Pruned weights: weight_orig, which is trained, times weight_mask, a buffer. Functions and names
// of tensors are those of torch.nn.utils.prune:
//
//   auto pruned = nn::prune::l1_unstructured(model, {"*.weight"}, 0.5);   // half of each
//   auto [loss, gradients] = value_and_grad(loss_of)(pruned, batch);
//   pruned = nn::prune::l1_unstructured(pruned, {"0.weight"}, 3);         // three more
//   Classifier plain = nn::prune::remove(pruned);
//
// A weight that is pruned again keeps its mask, and only what remains is chosen from.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plait/core/function_ref.h"
#include "plait/core/trees/reflect.h"
#include "plait/nn/buffers.h"
#include "plait/nn/models/freeze.h"
#include "plait/nn/models/vectors.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/linalg/linalg.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

// A model with pruned weights, which is called like the model itself.
template <class Model>
struct PrunedModel {
  Model rest;                               // with placeholders instead of these weights
  std::map<std::string, Tensor> originals;  // by names such as "0.weight_orig"
  std::map<std::string, Buffer> masks;      // "0.weight_mask"

  static constexpr auto fields() {
    return plait::fields<PrunedModel>("", &PrunedModel::rest, "", &PrunedModel::originals, "",
                                      &PrunedModel::masks);
  }

  // The model with the weights as plain tensors: what is pruned is 0.
  Model whole() const {
    Model model = rest;
    for_each_leaf(model, [&](std::string_view path, Tensor& tensor) {
      const std::string name(path);
      if (const auto found = originals.find(name + "_orig"); found != originals.end()) {
        tensor = found->second * masks.at(name + "_mask");
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
      if (originals.contains(std::string(path) + "_orig")) tensor = placeholder_of(tensor);
    });
    rest = std::move(model);
    return result;
  }
};

namespace prune {

// How much is pruned: a count of elements or slices, 2, or a fraction of those that are left, 0.5.
class Amount {
 public:
  template <std::integral T>
  Amount(T count)  // NOLINT(google-explicit-constructor)
      : count_(static_cast<int64_t>(count)) {}
  template <std::floating_point T>
  Amount(T fraction)  // NOLINT(google-explicit-constructor)
      : fraction_(static_cast<double>(fraction)), is_fraction_(true) {}

  // ValueError, which begins with the name of the function, for a negative count, and a fraction
  // that is not from 0 to 1.
  void expect_within(std::string_view function) const;
  bool is_fraction() const { return is_fraction_; }
  double fraction() const { return fraction_; }
  int64_t count() const { return count_; }

 private:
  double fraction_ = 0;
  int64_t count_ = 0;
  bool is_fraction_ = false;
};

// The norm of a slice: of its elements, by its order, or nuclear of slices that are matrices.
class SliceNorm {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  SliceNorm(T order) : order_(static_cast<double>(order)) {}  // NOLINT
  SliceNorm(linalg::MatrixNorm norm);                         // NOLINT: frobenius or nuclear

  bool is_nuclear() const { return is_nuclear_; }
  double order() const { return order_; }

 private:
  double order_ = 2;
  bool is_nuclear_ = false;
};

using Patterns = std::vector<std::string>;
// By the names of weights: what decides instead of their values.
using Scores = std::map<std::string, Tensor>;

// A weight that is pruned: its mask is empty the first time.
struct Weight {
  std::string name;
  Tensor original, mask;
};
// Makes a mask for each of the weights.
using MaskRule = FunctionRef<std::vector<Tensor>(std::span<const Weight>)>;
std::vector<Tensor> ones_of(std::span<const Weight> weights);

template <class Model>
PrunedModel<Model> opened(Model model) {
  return {std::move(model), {}, {}};
}
template <class Model>
PrunedModel<Model> opened(PrunedModel<Model> model) {
  return model;
}

// The model whose parameters with names that match the patterns have the masks of the rule.
// ValueError if a pattern matches none.
template <class Model>
[[nodiscard]] auto with_masks(std::string_view function, Model model, const Patterns& names,
                              MaskRule rule) {
  auto made = opened(std::move(model));
  std::vector<Weight> weights;
  const std::vector<Place> places = chosen_places(function, parameter_places(made.rest), names);
  for (const Place& place : places) {
    const auto found = made.originals.find(place.name + "_orig");
    const bool is_pruned = found != made.originals.end();
    weights.push_back({place.name, is_pruned ? found->second : *place.tensor,
                       is_pruned ? Tensor(made.masks.at(place.name + "_mask")) : Tensor()});
  }
  std::vector<Tensor> masks = rule(weights);
  for (size_t i = 0; i < places.size(); ++i) {
    if (!weights[i].mask) {
      made.originals.emplace(places[i].name + "_orig", weights[i].original);
      *places[i].tensor = placeholder_of(weights[i].original);
    }
    made.masks.insert_or_assign(places[i].name + "_mask", Buffer(std::move(masks[i])));
  }
  return made;
}

// Masks of ones: nothing is pruned yet.
template <class Model>
[[nodiscard]] auto identity(Model model, const Patterns& names) {
  return with_masks("nn::prune::identity", std::move(model), names,
                    [](std::span<const Weight> weights) { return ones_of(weights); });
}

std::vector<Tensor> l1_masks(std::span<const Weight> weights, Amount amount, const Scores& scores);
// Without the elements of each weight that have the least absolute values. The scores decide
// instead of the weights that they name.
template <class Model>
[[nodiscard]] auto l1_unstructured(Model model, const Patterns& names, Amount amount,
                                   const Scores& importance_scores = {}) {
  return with_masks("nn::prune::l1_unstructured", std::move(model), names,
                    [&](std::span<const Weight> weights) {
                      return l1_masks(weights, amount, importance_scores);
                    });
}

std::vector<Tensor> random_masks(const Tensor& key, std::span<const Weight> weights, Amount amount);
// Without elements that are chosen at random.
template <class Model>
[[nodiscard]] auto random_unstructured(const Tensor& key, Model model, const Patterns& names,
                                       Amount amount) {
  return with_masks(
      "nn::prune::random_unstructured", std::move(model), names,
      [&](std::span<const Weight> weights) { return random_masks(key, weights, amount); });
}

std::vector<Tensor> ln_masks(std::span<const Weight> weights, Amount amount, SliceNorm n,
                             int64_t dim, const Scores& scores);
// Without the slices along dim that have the least norms.
template <class Model>
[[nodiscard]] auto ln_structured(Model model, const Patterns& names, Amount amount, SliceNorm n,
                                 int64_t dim, const Scores& importance_scores = {}) {
  return with_masks("nn::prune::ln_structured", std::move(model), names,
                    [&](std::span<const Weight> weights) {
                      return ln_masks(weights, amount, n, dim, importance_scores);
                    });
}

std::vector<Tensor> random_slice_masks(const Tensor& key, std::span<const Weight> weights,
                                       Amount amount, int64_t dim);
// Without slices along dim that are chosen at random.
template <class Model>
[[nodiscard]] auto random_structured(const Tensor& key, Model model, const Patterns& names,
                                     Amount amount, int64_t dim) {
  return with_masks("nn::prune::random_structured", std::move(model), names,
                    [&](std::span<const Weight> weights) {
                      return random_slice_masks(key, weights, amount, dim);
                    });
}

struct GlobalOptions {
  Tensor key = {};                // elements are chosen at random by it, and not by their values
  Scores importance_scores = {};  // they decide instead of the values
};
std::vector<Tensor> global_masks(std::span<const Weight> weights, Amount amount,
                                 const GlobalOptions& options);
// Without the elements that are least among all weights together.
template <class Model>
[[nodiscard]] auto global_unstructured(Model model, const Patterns& names, Amount amount,
                                       const GlobalOptions& options = {}) {
  return with_masks(
      "nn::prune::global_unstructured", std::move(model), names,
      [&](std::span<const Weight> weights) { return global_masks(weights, amount, options); });
}

std::vector<Tensor> given_masks(std::span<const Weight> weights,
                                const std::map<std::string, Tensor>& masks);
// With these masks by the names of weights, times those that they had.
template <class Model>
[[nodiscard]] auto custom_from_mask(Model model, const std::map<std::string, Tensor>& masks) {
  Patterns names;
  for (const auto& [name, mask] : masks) names.push_back(name);
  return with_masks("nn::prune::custom_from_mask", std::move(model), names,
                    [&](std::span<const Weight> weights) { return given_masks(weights, masks); });
}
// With one mask for all of these weights.
template <class Model>
[[nodiscard]] auto custom_from_mask(Model model, const Patterns& names, const Tensor& mask) {
  const auto rule = [&](std::span<const Weight> weights) {
    std::map<std::string, Tensor> masks;
    for (const Weight& each : weights) masks.emplace(each.name, mask);
    return given_masks(weights, masks);
  };
  return with_masks("nn::prune::custom_from_mask", std::move(model), names, rule);
}

// The model with plain tensors: what is pruned stays 0, and is trained again.
template <class Model>
[[nodiscard]] Model remove(const PrunedModel<Model>& model) {
  return model.whole();
}
// The model with plain tensors instead of the pruned weights of these names.
template <class Model>
[[nodiscard]] PrunedModel<Model> remove(PrunedModel<Model> model, const Patterns& names) {
  const Model whole = model.whole();
  std::vector<Place> pruned;
  for (const Place& place : places_of(model.rest)) {
    if (model.originals.contains(place.name + "_orig")) pruned.push_back(place);
  }
  for (const Place& place : chosen_places("nn::prune::remove", pruned, names)) {
    for_each_leaf(whole, [&](std::string_view path, const Tensor& tensor) {
      if (path == place.name) *place.tensor = tensor;
    });
    model.originals.erase(place.name + "_orig");
    model.masks.erase(place.name + "_mask");
  }
  return model;
}

bool has_pruned(const State& state);
// True if a weight of the model, or of a part of it, is pruned.
template <class Model>
bool is_pruned(const Model& model) {
  return has_pruned(state(model));
}

}  // namespace prune
}  // namespace plait::nn
