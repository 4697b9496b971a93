// A model as an optimizer sees it: its parameters by path.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/trees/tree.h"
#include "plait/optim/number.h"
#include "plait/tensor/tensor.h"

namespace plait::optim {

// True if it can have a gradient: not empty, and of a floating or complex dtype.
bool is_trained(const Tensor& value);
// False for a tensor of size 0, such as the placeholder of a frozen parameter: optimizers leave it
// and its state as they are.
bool has_elements(const Tensor& value);

// A leaf of a model.
struct ModelLeaf {
  std::string path;
  Tensor* tensor;
  bool is_buffer;
};

template <class Model>
std::vector<ModelLeaf> model_leaves(Model& model) {
  std::vector<ModelLeaf> found;
  for_each_leaf_and_role(model, [&](std::string_view path, const Tensor& leaf, bool is_buffer) {
    found.push_back({std::string(path), const_cast<Tensor*>(&leaf), is_buffer});
  });
  return found;
}

// The parameters: without buffers, integers and empty tensors, which are not trained.
Tensors parameters_in(std::span<const ModelLeaf> leaves);
template <class Model>
Tensors parameters_of(const Model& model) {
  return parameters_in(model_leaves(model));
}

// Replaces parameters by those of the same path. ValueError if one is of another shape.
void assign_parameters(std::span<const ModelLeaf> leaves, const Tensors& parameters);
template <class Model>
[[nodiscard]] Model with_parameters(Model model, const Tensors& parameters) {
  assign_parameters(model_leaves(model), parameters);
  return model;
}

// ValueError unless the trees have the same structure.
void expect_structure(std::string_view optimizer, std::string_view what, const TreeKey& model,
                      const TreeKey& other);
// The gradient of each parameter, conjugated, so that it points uphill. ShapeError, or ValueError
// for an empty tensor, that names the first leaf that does not fit.
Tensors gradients_in(std::string_view optimizer, std::span<const ModelLeaf> model,
                     std::span<const Tensor> gradients);

// The gradients by path, checked: the tree is like the model.
template <class Model>
Tensors gradients_of(std::string_view optimizer, const Model& model, const Model& gradients) {
  std::vector<Tensor> found;
  const TreeKey own = trees::structure_of<Tensor>(model, [](const Tensor&) {});
  const TreeKey other =
      trees::structure_of<Tensor>(gradients, [&](const Tensor& leaf) { found.push_back(leaf); });
  expect_structure(optimizer, "the gradient", own, other);
  return gradients_in(optimizer, model_leaves(model), found);
}

}  // namespace plait::optim
