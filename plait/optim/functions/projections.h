// Projections of the parameters of a model, all together, onto sets: the nearest model of the set,
// with optax's names. Buffers, integers and frozen parameters stay as they are. A model may be any
// tree, also a single tensor.
//
//   model = optim::projection_l2_ball(model, 10.);   // after each update
#pragma once

#include <concepts>
#include <string_view>
#include <utility>
#include <vector>

#include "plait/ops/operand.h"
#include "plait/optim/update.h"

namespace plait::optim {

namespace projections {

// A limit of numbers: one for all of them, or one for each parameter.
struct Limit {
  Tensor number = {};
  Tensors by_path = {};
};
// ShapeError unless it is one number. The function is that of users.
Limit limit_of(std::string_view function, std::string_view what, const Operand& number);
// The tensors of another tree at the places of parameters. ValueError for another structure,
// ShapeError for another shape.
Tensors tensors_beside(std::string_view function, std::string_view what,
                       std::span<const ModelLeaf> model, std::span<const Tensor> other);

template <class Model>
Tensors tree_beside(std::string_view function, std::string_view what, const Model& model,
                    const Model& other) {
  std::vector<Tensor> found;
  const TreeKey own = trees::structure_of<Tensor>(model, [](const Tensor&) {});
  const TreeKey its =
      trees::structure_of<Tensor>(other, [&](const Tensor& leaf) { found.push_back(leaf); });
  expect_structure(function, what, own, its);
  return tensors_beside(function, what, model_leaves(model), found);
}
template <class Model, class Given>
Limit limit_beside(std::string_view function, std::string_view what, const Model& model,
                   const Given& given) {
  if constexpr (!std::same_as<Model, Given> || std::same_as<Model, Tensor>) {
    if constexpr (std::same_as<Given, Tensor>) {
      if (given.rank() > 0) return {.by_path = tree_beside(function, what, model, given)};
    }
    return limit_of(function, what, given);
  } else {
    return {.by_path = tree_beside(function, what, model, given)};
  }
}

Tensors non_negative(const Tensors& x);
Tensors box(std::string_view function, const Tensors& x, const Limit& lower, const Limit& upper);
Tensors hypercube(const Tensors& x, const Operand& scale);
Tensors linf_ball(const Tensors& x, const Operand& scale);
Tensors simplex(const Tensors& x, const Operand& scale);
Tensors l1_sphere(const Tensors& x, const Operand& scale);
Tensors l1_ball(const Tensors& x, const Operand& scale);
Tensors l2_sphere(const Tensors& x, const Operand& scale);
Tensors l2_ball(const Tensors& x, const Operand& scale);
Tensors vector(const Tensors& x, const Tensors& a);
Tensors hyperplane(const Tensors& x, const Tensors& a, const Operand& b);
Tensors halfspace(const Tensors& x, const Tensors& a, const Operand& b);

}  // namespace projections

// Negative numbers as 0.
template <class Model>
[[nodiscard]] Model projection_non_negative(Model model) {
  return with_parameters(model, projections::non_negative(parameters_of(model)));
}
// Each number clipped to its limits, which are numbers, or trees like the model.
template <class Model, class Lower, class Upper>
[[nodiscard]] Model projection_box(Model model, const Lower& lower, const Upper& upper) {
  constexpr std::string_view kName = "optim::projection_box";
  const auto least = projections::limit_beside(kName, "lower", model, lower);
  const auto most = projections::limit_beside(kName, "upper", model, upper);
  return with_parameters(model, projections::box(kName, parameters_of(model), least, most));
}
// Each number clipped to 0 and `scale`.
template <class Model>
[[nodiscard]] Model projection_hypercube(Model model, const Operand& scale = 1.) {
  return with_parameters(model, projections::hypercube(parameters_of(model), scale));
}
// Each number clipped to −scale and scale.
template <class Model>
[[nodiscard]] Model projection_linf_ball(Model model, const Operand& scale = 1.) {
  return with_parameters(model, projections::linf_ball(parameters_of(model), scale));
}
// The nearest numbers of 0 or more that sum to `scale`.
template <class Model>
[[nodiscard]] Model projection_simplex(Model model, const Operand& scale = 1.) {
  return with_parameters(model, projections::simplex(parameters_of(model), scale));
}
// The nearest numbers whose absolute values sum to `scale`.
template <class Model>
[[nodiscard]] Model projection_l1_sphere(Model model, const Operand& scale = 1.) {
  return with_parameters(model, projections::l1_sphere(parameters_of(model), scale));
}
// The nearest numbers whose absolute values sum to at most `scale`.
template <class Model>
[[nodiscard]] Model projection_l1_ball(Model model, const Operand& scale = 1.) {
  return with_parameters(model, projections::l1_ball(parameters_of(model), scale));
}
// The numbers scaled, so that their norm is `scale`.
template <class Model>
[[nodiscard]] Model projection_l2_sphere(Model model, const Operand& scale = 1.) {
  return with_parameters(model, projections::l2_sphere(parameters_of(model), scale));
}
// The numbers scaled down, if their norm is above `scale`.
template <class Model>
[[nodiscard]] Model projection_l2_ball(Model model, const Operand& scale = 1.) {
  return with_parameters(model, projections::l2_ball(parameters_of(model), scale));
}
// The nearest multiple of the tree a.
template <class Model>
[[nodiscard]] Model projection_vector(Model model, const Model& a) {
  const Tensors direction = projections::tree_beside("optim::projection_vector", "a", model, a);
  return with_parameters(model, projections::vector(parameters_of(model), direction));
}
// The nearest tree whose product with the tree a is b.
template <class Model>
[[nodiscard]] Model projection_hyperplane(Model model, const Model& a, const Operand& b) {
  const Tensors direction = projections::tree_beside("optim::projection_hyperplane", "a", model, a);
  return with_parameters(model, projections::hyperplane(parameters_of(model), direction, b));
}
// The nearest tree whose product with the tree a is at most b.
template <class Model>
[[nodiscard]] Model projection_halfspace(Model model, const Model& a, const Operand& b) {
  const Tensors direction = projections::tree_beside("optim::projection_halfspace", "a", model, a);
  return with_parameters(model, projections::halfspace(parameters_of(model), direction, b));
}

}  // namespace plait::optim
