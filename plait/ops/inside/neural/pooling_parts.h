// Helpers of pooling functions.
#pragma once

#include <string_view>

#include "plait/tensor/tensor.h"

namespace plait {

// Throws ShapeError unless x is [batch, channels, space…] or [channels, space…].
void expect_planes(std::string_view function, const Tensor& x, size_t dimensions);

// The size of the i-th of the last dimensions.
Dim space_of(const Tensor& x, size_t dimensions, size_t i);

}  // namespace plait
