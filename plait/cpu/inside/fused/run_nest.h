// Runs the machine code of a nest on the thread team. The results do not depend on the number of
// threads.
#pragma once

#include "plait/cpu/inside/fused/nest_call.h"

namespace plait::cpu {

void run_nest(const NestCall& call);

}  // namespace plait::cpu
