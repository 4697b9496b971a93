// The numbers of one step, by name, in the dtype of a computation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plait/optim/number.h"

namespace plait::optim {

// The dtype of computations: f32 for narrower floats.
DType wide(DType dtype);
Tensor as_wide(const Tensor& x);
// |x|², real.
Tensor squared(const Tensor& x);
Tensor f64_of(double value);  // f64[]
// A tensor like the parameter with this value everywhere.
Tensor filled(const Tensor& parameter, const Tensor& value);

class StepNumbers {
 public:
  StepNumbers(const Tensors& exact, DType dtype) : exact_(&exact), dtype_(dtype) {}

  bool has(std::string_view name) const;
  const Tensor& exact(std::string_view name) const;  // f64[]
  const Tensor& operator[](std::string_view name) const;
  const Tensor& rest(std::string_view name) const;  // one minus the number
  // The average of the old value, weighted by the number, and the new one.
  Tensor mix(std::string_view name, const Tensor& old, const Tensor& now) const;

 private:
  const Tensors* exact_;
  DType dtype_;
  mutable Tensors cast_;
};

}  // namespace plait::optim
