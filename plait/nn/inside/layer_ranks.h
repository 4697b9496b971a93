// Helpers of layers that exist for several numbers of dimensions.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include "plait/tensor/tensor.h"

namespace plait::nn {

// "nn::Conv2d", for errors.
std::string name_of_layer(std::string_view layer, size_t rank);

// ShapeError unless the tensor has one of these numbers of dimensions.
void expect_dimensions(std::string_view layer, const Tensor& x,
                       std::initializer_list<size_t> counts);

}  // namespace plait::nn
