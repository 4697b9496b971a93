// JVP and VJP of functions on lists of tensors, for instructions whose callees are differentiated.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "plait/transform/control/control.h"

namespace plait::control {

std::vector<bool> which_are_inexact(std::span<const Tensor> tensors);
// True for tensors that have a derivative and are followed by an open level.
std::vector<bool> which_are_followed(std::span<const Tensor> tensors);
Tensors chosen(std::span<const Tensor> tensors, const std::vector<bool>& which);
// The tangent, or zeros if it is empty.
Tensor or_zeros(const Tensor& tangent, const Tensor& like);

// The tensor with a shape that is known to be equal at run time; empty stays empty. Recomputed
// values may have other symbols for the same sizes.
Tensor refined(const Tensor& tensor, const Shape& shape);
// The shapes of the results, for their tangents: a rule that runs later does not have the results.
std::vector<Shape> shapes_of(std::span<const Tensor> results);
Tensors refined(Tensors tensors, std::span<const Shape> shapes);

// VJP of a function that has already run once: the cotangents of the wanted arguments.
Tensors pulled(const TensorFunction& function, std::span<const Tensor> arguments,
               const std::vector<bool>& wanted, std::span<const Tensor> cotangents);
// JVP: the results, and the tangents of the inexact ones. `again`: the function has already
// run once.
std::pair<Tensors, Tensors> pushed(const TensorFunction& function,
                                   std::span<const Tensor> arguments,
                                   std::span<const Tensor> tangents, bool again = true);

}  // namespace plait::control
