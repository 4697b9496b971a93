// Checks and conversions of the operands of linear algebra. Internal to ops.
#pragma once

#include <string_view>

#include "plait/tensor/tensor.h"

namespace plait::linalg {

Tensor matrices(std::string_view function, const Tensor& a);
Tensor square_matrices(std::string_view function, const Tensor& a);

// Both sides of an equation, with the same dtype and batch dimensions, and B as matrices.
struct Equation {
  Tensor a, b;
  bool is_vector;

  Equation(std::string_view function, const Tensor& left, const Tensor& right);
  Tensor solution(const Tensor& x) const;
};

}  // namespace plait::linalg
