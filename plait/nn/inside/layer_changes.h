// Changes that a call makes in its layer, such as running statistics: none is lost without an
// error.
#pragma once

#include <string_view>

#include "plait/tensor/tensor.h"

namespace plait::nn {

// ValueError: the layer that is called is const, so that `what` would not change.
[[noreturn]] void refuse_const_layer(std::string_view what);

// ValueError if `after`, which takes the place of `before`, belongs to a function that is being
// recorded, and the layer does not: it would hold tensors without values.
void expect_same_record(std::string_view what, const Tensor& before, const Tensor& after);

}  // namespace plait::nn
