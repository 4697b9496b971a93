// The two derivatives of functions on lists of tensors, for forms whose callees are derived.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "plait/transform/control.h"

namespace plait::control {

std::vector<bool> which_are_inexact(std::span<const Tensor> tensors);
// Which have a derivative, and are followed by an open level.
std::vector<bool> which_are_followed(std::span<const Tensor> tensors);
Tensors chosen(std::span<const Tensor> tensors, const std::vector<bool>& which);
// The tangent, or zeros where it is empty.
Tensor or_zeros(const Tensor& tangent, const Tensor& like);

// The cotangents of the wanted arguments of a function, from those of its results.
Tensors pulled(const TensorFunction& function, std::span<const Tensor> arguments,
               const std::vector<bool>& wanted, std::span<const Tensor> cotangents);
// The results of a function, and the tangents of those that are inexact.
std::pair<Tensors, Tensors> pushed(const TensorFunction& function,
                                   std::span<const Tensor> arguments,
                                   std::span<const Tensor> tangents);

}  // namespace plait::control
