// Which programs draw random keys.
#pragma once

#include "plait/ir/program.h"

namespace plait {

// True if a function of the program draws from the default stream; or if this function or one of
// its callees does.
bool draws_keys(const ir::Program& program);
bool draws_keys(const ir::Program& program, const ir::Function& function);

}  // namespace plait
