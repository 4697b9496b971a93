// Tangents and cotangents as values: their zero and their sum, of arrays and of records.
#pragma once

#include "plait/tensor/rules.h"

namespace plait {

// True if the value holds real or complex numbers somewhere.
bool has_tangent(const Tensor& tensor);
// The zero tangent or cotangent of that type; empty if the type has none.
Tensor zeros_of(const OperandType& type);
// Adds tangents or cotangents; an empty one is zero.
Tensor sum_of(const Tensor& a, const Tensor& b);

}  // namespace plait
