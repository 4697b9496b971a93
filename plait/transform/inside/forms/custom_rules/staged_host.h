// Host functions that are recorded as functions of the IR and called once, in place. Therefore they
// may read the values of their arguments.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "plait/transform/inside/forms/staged.h"

namespace plait {

// Like `stage`. If the function reads a value, and the surrounding trace knows its values, the
// function runs again with the values of `arguments`; these are values of that trace, some may be
// empty. Its decisions become guards of the surrounding trace.
StagedFunction stage_host(const std::string& name, std::span<const ir::Type> parameters,
                          const TensorFunction& function,
                          const std::function<std::vector<Tensor>()>& arguments);

}  // namespace plait
