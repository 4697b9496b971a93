// The types in which kernels add numbers of a dtype.
#pragma once

#include <string_view>

#include "plait/core/numbers/dtype.h"

namespace plait::cuda {

// Integers wrap, so that their sums are unsigned; narrow floats are added in f32.
inline std::string_view sum_type(DType dtype) {
  if (is_integer(dtype)) return size_of(dtype) < 8 ? "u32" : "u64";
  return is_floating(dtype) && size_of(dtype) < 4 ? "f32" : name_of(dtype);
}

}  // namespace plait::cuda
