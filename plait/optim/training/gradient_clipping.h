// Functions of gradient trees that make gradients smaller, as torch.nn.utils has them.
#pragma once

#include <span>
#include <utility>

#include "plait/ops/effects/check.h"
#include "plait/optim/update.h"

namespace plait::optim {

Tensor total_norm_of(std::span<const Tensor> gradients, double norm_type);
// The factor, f64[], of gradients whose total norm shall be at most max_norm.
Tensor clipping_factor(const Tensor& norm, double max_norm);
Tensor scaled_by(const Tensor& gradient, const Tensor& factor);
Tensor clipped_to(const Tensor& gradient, double clip_value);

// The norm of all tensors of a gradient together, as if they were one vector; `norm_type` may be
// infinite. With error_if_nonfinite a NaN or an infinity in the gradient is a CheckError, which
// names the tensor by its path.
template <class Tree>
Tensor get_total_norm(const Tree& gradients, double norm_type = 2,
                      bool error_if_nonfinite = false) {
  const Tensor norm = total_norm_of(tensors_of(gradients), norm_type);
  if (!error_if_nonfinite) return norm;
  check_finite(gradients, "the gradient");
  return check_finite(norm, "the norm of the gradient");
}

// Gradients whose total norm is at most max_norm, and the norm that they had.
template <class Tree>
[[nodiscard]] std::pair<Tree, Tensor> clip_grad_norm(Tree gradients, double max_norm,
                                                     double norm_type = 2,
                                                     bool error_if_nonfinite = false) {
  const Tensor norm = get_total_norm(gradients, norm_type, error_if_nonfinite);
  const Tensor factor = clipping_factor(norm, max_norm);
  for_each_tensor(gradients, [&](Tensor& leaf) { leaf = scaled_by(leaf, factor); });
  return {std::move(gradients), norm};
}

// Gradients whose elements are from -clip_value to clip_value.
template <class Tree>
[[nodiscard]] Tree clip_grad_value(Tree gradients, double clip_value) {
  for_each_tensor(gradients, [&](Tensor& leaf) { leaf = clipped_to(leaf, clip_value); });
  return gradients;
}

}  // namespace plait::optim
