// The passes that make kernels, for the target that compiles them. Without one, they return the
// program as it is.
#pragma once

#include <cstdint>
#include <vector>

#include "plait/compile/inside/targets/target.h"
#include "plait/compile/pass.h"

namespace plait::compile {

// By function, the first instruction of its backward pass, if `recompute` has found one; else 0. A
// kernel with instructions of both passes would keep what it computes for the backward pass.
using Turns = std::vector<uint32_t>;

ir::Program expanded(const ir::Program& program, const Target* target);
ir::Program recomputed(const ir::Program& program, const Target* target, Turns& turns);
ir::Program fused(const ir::Program& program, const Target* target, const Turns& turns);

// Runs all enabled passes, for this target.
ir::Program optimized_for(const Target* target, ir::Program program, bool makes_kernels,
                          const PassObserver& observer);

}  // namespace plait::compile
