// Diagonals of matrices of second derivatives, as vectors: optax's second_order.
#pragma once

#include <span>
#include <string_view>
#include <tuple>

#include "plait/ops/arrays/create.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/update.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/derivatives/vjp.h"
#include "plait/transform/vmap.h"

namespace plait::optim {

namespace second_order {

// The parameters as a vector, in the order of the fields. TypeError for complex ones.
Tensor real_vector(std::string_view function, std::span<const ModelLeaf> model);
// Replaces the parameters by those of a vector.
void assign_vector(std::string_view function, std::span<const ModelLeaf> model,
                   const Tensor& vector);

template <class Model>
Model at_vector(std::string_view function, Model model, const Tensor& vector) {
  assign_vector(function, model_leaves(model), vector);
  return model;
}

}  // namespace second_order

// The diagonal of the Hessian of loss(params, arguments…) by the parameters, as a vector in the
// order of nn::parameters_to_vector. All rows are computed together, without the matrix.
template <class Loss, class Model, class... Arguments>
Tensor hessian_diag(const Loss& loss, const Model& params, const Arguments&... arguments) {
  constexpr std::string_view kName = "optim::hessian_diag";
  const Tensor vector = second_order::real_vector(kName, model_leaves(params));
  if (vector.shape(0) == Dim(0)) return vector;
  const auto of_vector = [&](const Tensor& at) -> Tensor {
    return loss(second_order::at_vector(kName, params, at), arguments...);
  };
  const auto row = [&](const Tensor& unit) -> Tensor {
    return sum(unit * jvp(grad(of_vector), std::tuple(vector), std::tuple(unit)).second);
  };
  return vmap(row)(eye(vector.shape(0).number(), -1, vector.dtype()));
}

// The squares of the gradient of negative_log_likelihood(params, arguments…) by the parameters, the
// diagonal of the observed Fisher information of one sample, as such a vector.
template <class Loss, class Model, class... Arguments>
Tensor fisher_diag(const Loss& negative_log_likelihood, const Model& params,
                   const Arguments&... arguments) {
  constexpr std::string_view kName = "optim::fisher_diag";
  const Tensor vector = second_order::real_vector(kName, model_leaves(params));
  const auto of_vector = [&](const Tensor& at) -> Tensor {
    return negative_log_likelihood(second_order::at_vector(kName, params, at), arguments...);
  };
  return square(grad(of_vector)(vector));
}

}  // namespace plait::optim
