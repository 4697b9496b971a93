// Common parts of optimizers: checks that trees match, and arithmetic on one parameter.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/function_ref.h"
#include "plait/core/trees/tree.h"
#include "plait/tensor/tensor.h"

namespace plait::optim {

// True if it has a gradient. Other leaves stay unchanged, also in states.
bool is_trained(const Tensor& value);

Tensor zeros_if_trained(const Tensor& value);
// The initial state: zeros for all trained leaves.
template <class Model>
Model zeros_like_trained(const Model& model) {
  return map_leaves(model, zeros_if_trained);
}

// A tensor of a model and its gradient, in the dtype of the computation: f32 for narrower ones.
class Parameter {
 public:
  Parameter(const Tensor& value, const Tensor& gradient);

  const Tensor& value() const { return value_; }
  const Tensor& gradient() const { return gradient_; }
  // Converts a state, or an f64 number, to that dtype.
  Tensor of(const Tensor& other) const;
  // Converts back to the dtype of the model.
  Tensor kept(const Tensor& value) const;

 private:
  DType dtype_;
  Tensor value_, gradient_;
};

// Returns the number as f64[]; ValueError if it is negative.
Tensor rate_of(std::string_view optimizer, double rate);
// ValueError unless 0 ≤ value < limit.
void expect_option(std::string_view optimizer, std::string_view name, double value,
                   double limit = std::numeric_limits<double>::infinity());
Tensor no_steps();  // 0 as i64[]
Tensor one_more(const Tensor& steps);

using Paths = FunctionRef<std::vector<std::string>()>;
// ValueError unless the trees have the same structure.
void expect_structure(std::string_view optimizer, std::string_view what, const TreeKey& model,
                      const TreeKey& other);
// ShapeError, or ValueError for an empty tensor, that names the first leaf that does not fit.
void expect_shapes(std::string_view optimizer, std::string_view what, std::span<const Tensor> model,
                   std::span<const Tensor> others, Paths paths);

// Checks that `other`, gradients or an optimizer's state, has the structure and shapes of
// the model.
template <class Model>
void expect_like(std::string_view optimizer, std::string_view what, const Model& model,
                 const Model& other) {
  std::vector<Tensor> tensors, others;
  const auto key = [](const Model& tree, std::vector<Tensor>& found) {
    return trees::structure_of<Tensor>(tree,
                                       [&](const Tensor& tensor) { found.push_back(tensor); });
  };
  const TreeKey own = key(model, tensors);
  expect_structure(optimizer, what, own, key(other, others));
  expect_shapes(optimizer, what, tensors, others, [&] { return leaf_paths(model); });
}

}  // namespace plait::optim
