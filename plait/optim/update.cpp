#include "plait/optim/update.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/core/location.h"
#include "plait/ops/elementwise/complex.h"

namespace plait::optim {

bool is_trained(const Tensor& value) {
  return value && value.is_array() && is_inexact(value.dtype());
}

bool has_elements(const Tensor& value) {
  const Shape shape = value.shape();
  return std::ranges::none_of(shape.dims(), [](Dim size) { return same(size, 0); });
}

Tensors parameters_in(std::span<const ModelLeaf> leaves) {
  Tensors found;
  for (const ModelLeaf& leaf : leaves) {
    if (!leaf.is_buffer && is_trained(*leaf.tensor)) found.emplace(leaf.path, *leaf.tensor);
  }
  return found;
}

void assign_parameters(std::span<const ModelLeaf> leaves, const Tensors& parameters) {
  for (const ModelLeaf& leaf : leaves) {
    if (leaf.is_buffer) continue;
    if (const auto found = parameters.find(leaf.path); found != parameters.end()) {
      if (found->second.shape() != leaf.tensor->shape()) {
        throw ValueError("optim: {} is {}, but its next value is {}", leaf.path,
                         leaf.tensor->type().text(), found->second.type().text())
            .at(Location::of_caller());
      }
      *leaf.tensor = found->second;
    }
  }
}

void expect_structure(std::string_view optimizer, std::string_view what, const TreeKey& model,
                      const TreeKey& other) {
  if (model == other) return;
  throw ValueError("{}: the model and {} are different trees: {}", optimizer, what,
                   explain_difference(model, other))
      .at(Location::of_caller())
      .hint(
          "an optimizer belongs to the model that it was created for, and takes the gradients of "
          "value_and_grad by that model");
}

Tensors gradients_in(std::string_view optimizer, std::span<const ModelLeaf> model,
                     std::span<const Tensor> gradients) {
  Tensors found;
  for (size_t i = 0; i < model.size(); ++i) {
    const Tensor &value = *model[i].tensor, &gradient = gradients[i];
    if (model[i].is_buffer || !is_trained(value)) continue;
    if (!gradient) {
      throw ValueError("{}: the gradient of {} is an empty tensor", optimizer, model[i].path)
          .at(Location::of_caller());
    }
    if (value.shape() != gradient.shape()) {
      throw ShapeError("{}: {} is {}, but the gradient of it is {}", optimizer, model[i].path,
                       value.type().text(), gradient.type().text())
          .at(Location::of_caller());
    }
    found.emplace(model[i].path, is_complex(value.dtype()) ? conj(gradient) : gradient);
  }
  return found;
}

}  // namespace plait::optim
