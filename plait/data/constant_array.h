// The values of a tensor, for functions that compute with memory alone.
#pragma once

#include <string_view>

#include "plait/tensor/tensor.h"

namespace plait::data {

// TypeError, which names the function, if a derivative with respect to the tensor is computed: what
// the function makes has none, so the derivative would silently be 0.
const Array& constant_array(std::string_view function, const Tensor& tensor);

}  // namespace plait::data
