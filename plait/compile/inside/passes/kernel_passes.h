// The passes that make kernels, for the target that compiles them. Without one, they return the
// program as it is.
#pragma once

#include "plait/compile/inside/targets/target.h"
#include "plait/compile/pass.h"

namespace plait::compile {

ir::Program expanded(const ir::Program& program, const Target* target);
ir::Program fused(const ir::Program& program, const Target* target);

// Runs all enabled passes, for this target.
ir::Program optimized_for(const Target* target, ir::Program program, bool makes_kernels,
                          const PassObserver& observer);

}  // namespace plait::compile
