// Zero and sum of tangents and cotangents that are records.
#pragma once

#include "plait/tensor/tensor.h"

namespace plait {

Tensor zero_record(const ir::Type& type);  // TypeError if the type has no derivative
Tensor sum_of_records(const Tensor& a, const Tensor& b);

}  // namespace plait
