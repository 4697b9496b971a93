// What the functions of linear algebra take, checked and brought to the dtype that they are
// computed in. Inside of ops.
#pragma once

#include <string_view>

#include "plait/tensor/tensor.h"

namespace plait::linalg {

Tensor matrices(std::string_view function, const Tensor& a);
Tensor square_matrices(std::string_view function, const Tensor& a);

// Two sides of an equation: one dtype, one batch, B as matrices.
struct Equation {
  Tensor a, b;
  bool is_vector;

  Equation(std::string_view function, const Tensor& left, const Tensor& right);
  Tensor solution(const Tensor& x) const;
};

}  // namespace plait::linalg
