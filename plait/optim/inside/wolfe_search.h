// A line search for the strong Wolfe conditions, with cubic interpolation, as PyTorch's LBFGS has
// it.
#pragma once

#include <functional>
#include <utility>

#include "plait/tensor/tensor.h"

namespace plait::optim {

// A step along the direction: its length, the loss and the gradient there, and the gradient along
// the direction.
struct LinePoint {
  Tensor t, loss, gradient, slope;
};

struct WolfeSearch {
  std::function<LinePoint(const Tensor& t)> evaluate;
  LinePoint start;          // t = 0
  Tensor reach;             // the largest change of a parameter by a step of length 1
  Tensor tolerance_change;  // the search ends at brackets that change them less
  Tensor most;              // evaluations, i64[]
  double c1 = 1e-4, c2 = 0.9;

  // The point found, and the number of evaluations.
  std::pair<LinePoint, Tensor> from(const Tensor& t) const;
};

}  // namespace plait::optim
