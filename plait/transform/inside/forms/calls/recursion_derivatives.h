// Derivatives of recursive functions, which are recursive functions too.
#pragma once

#include <span>
#include <vector>

#include "plait/transform/inside/forms/calls/recursive_function.h"

namespace plait {

// Call a recursive function whose operands are followed, and follow its results. Forward mode:
// values and tangents together, for the innermost level.
std::vector<Tensor> follow_forward(const RecursiveFunction& function,
                                   std::span<const Tensor> operands);
std::vector<Tensor> follow_in_reverse(const RecursiveFunction& function,
                                      std::span<const Tensor> operands);

}  // namespace plait
