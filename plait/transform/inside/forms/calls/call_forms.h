// Calls in traces.
#pragma once

#include <vector>

#include "plait/transform/inside/forms/form.h"

namespace plait {

// Records a call of a function that is recursive, or may be.
std::vector<Tensor> stage_recursive_call(const OnTensors& here);

}  // namespace plait
