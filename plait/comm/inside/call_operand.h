// Tensors as the operands of calls to other ranks.
#pragma once

#include <string_view>

#include "plait/comm/group.h"
#include "plait/tensor/tensor.h"

namespace plait::dist {

// TypeError while a program is recorded: the call would be made once, and not when the program
// runs.
void refuse_recording(std::string_view function);
// Its elements in row-major order. TypeError within a transform, DeviceError for one on another
// device than that of the group: both name the function.
Array operand_of(std::string_view function, const Tensor& x, const Group& group);

}  // namespace plait::dist
