// A check of what control flow decides by.
#pragma once

#include <string_view>

#include "plait/core/error.h"
#include "plait/tensor/tensor.h"

namespace plait::control {

// TypeError unless the tensor is a scalar, of the wanted dtype.
inline void expect_scalar(std::string_view what, const Tensor& tensor, bool is_wanted_dtype,
                          std::string_view wanted) {
  if (tensor.rank() == 0 && is_wanted_dtype) return;
  throw TypeError("{} is {}, expected {}", what, tensor.type().text(), wanted)
      .at(Location::of_caller());
}

}  // namespace plait::control
