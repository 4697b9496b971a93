// The two derivatives of functions on lists of tensors, for forms whose callees are derived.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "plait/transform/control/control.h"

namespace plait::control {

std::vector<bool> which_are_inexact(std::span<const Tensor> tensors);
// Which have a derivative, and are followed by an open level.
std::vector<bool> which_are_followed(std::span<const Tensor> tensors);
Tensors chosen(std::span<const Tensor> tensors, const std::vector<bool>& which);
// The tangent, or zeros where it is empty.
Tensor or_zeros(const Tensor& tangent, const Tensor& like);

// The tensor, or none, under a shape that it is found to have when it runs: what is computed again
// may bring other names for its sizes.
Tensor refined(const Tensor& tensor, const Shape& shape);
// The sizes of results, for their tangents: a rule that is asked later has not kept the results.
std::vector<Shape> shapes_of(std::span<const Tensor> results);
Tensors refined(Tensors tensors, std::span<const Shape> shapes);

// While one is there, its thread computes again what was computed before: nothing is printed.
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

// The cotangents of the wanted arguments of a function, which was run before, from those of its
// results.
Tensors pulled(const TensorFunction& function, std::span<const Tensor> arguments,
               const std::vector<bool>& wanted, std::span<const Tensor> cotangents);
// The results of a function, and the tangents of those that are inexact. `again`: it was run
// before.
std::pair<Tensors, Tensors> pushed(const TensorFunction& function,
                                   std::span<const Tensor> arguments,
                                   std::span<const Tensor> tangents, bool again = true);

}  // namespace plait::control
