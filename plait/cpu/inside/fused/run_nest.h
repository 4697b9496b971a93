// Runs the machine code of a nest on the thread team. The results do not depend on the number of
// threads.
#pragma once

#include <memory>

#include "plait/cpu/inside/fused/nest_call.h"

namespace plait::cpu {

void run_nest(const NestCall& call);

// A call to be run many times.
std::unique_ptr<compile::FusedCall> bound_nest(NestCall call);

}  // namespace plait::cpu
