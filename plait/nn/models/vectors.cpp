#include "plait/nn/models/vectors.h"

namespace plait::nn {

bool is_parameter(const Tensor& value) {
  return value && value.is_array() && is_inexact(value.dtype());
}

}  // namespace plait::nn
