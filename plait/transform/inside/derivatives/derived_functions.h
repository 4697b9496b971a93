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

// While it exists, this thread recomputes earlier computations: nothing is printed again.
class Again {
 public:
  explicit Again(bool is_so = true) : outer_(std::exchange(is_open_, is_so)) {}
  ~Again() { is_open_ = outer_; }
  Again(const Again&) = delete;
  Again& operator=(const Again&) = delete;

  static bool is_open() { return is_open_; }

 private:
  static inline constinit thread_local bool is_open_ = false;
  const bool outer_;
};

// VJP of a function that has already run once: the cotangents of the wanted arguments.
Tensors pulled(const TensorFunction& function, std::span<const Tensor> arguments,
               const std::vector<bool>& wanted, std::span<const Tensor> cotangents);
// JVP: the results, and the tangents of the inexact ones. `again`: the function has already
// run once.
std::pair<Tensors, Tensors> pushed(const TensorFunction& function,
                                   std::span<const Tensor> arguments,
                                   std::span<const Tensor> tangents, bool again = true);

}  // namespace plait::control
