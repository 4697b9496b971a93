// The error for a traced tensor that is used after its trace has ended.
#pragma once

#include "plait/tensor/tensor.h"

namespace plait {

[[noreturn]] void refuse_late_use(const TracedValue& value);

}  // namespace plait
