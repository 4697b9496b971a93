// Host functions recorded as functions of the IR that are called once, where they are recorded: so
// they may look at what their arguments are this time.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "plait/transform/inside/control/staged.h"

namespace plait {

// Like `stage`. Where the function asks what a value is this time, and the trace around knows, it
// is run once more with the numbers of `arguments`, values of that trace of which some may be
// empty. What it decides by then is a guard of the trace around.
StagedFunction stage_host(const std::string& name, std::span<const ir::Type> parameters,
                          const TensorFunction& function,
                          const std::function<std::vector<Tensor>()>& arguments);

}  // namespace plait
