// Nests whose results are accumulated over their rows.
#pragma once

#include "plait/cpu/inside/fused/nest_call.h"

namespace plait::cpu {

void run_accumulation(const NestCall& call);

}  // namespace plait::cpu
