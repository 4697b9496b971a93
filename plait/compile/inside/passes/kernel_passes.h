// The passes that make kernels, for the target that compiles them. Without one, they return the
// program as it is.
#pragma once

#include <cstdint>
#include <vector>

#include "plait/compile/inside/passes/segments.h"
#include "plait/compile/inside/targets/target.h"
#include "plait/compile/pass.h"

namespace plait::compile {

// By function, the first instruction of its backward pass, if `recompute` has found one; else 0. A
// kernel with instructions of both passes would keep what it computes for the backward pass.
using Turns = std::vector<uint32_t>;

ir::Program expanded(const ir::Program& program, const Target* target);
ir::Program recomputed(const ir::Program& program, const Target* target, Turns& turns,
                       const Segments& segments = {});
ir::Program fused(const ir::Program& program, const Target* target, const Turns& turns);

// Runs all enabled passes, for this target.
ir::Program optimized_for(const Target* target, ir::Program program, bool makes_kernels,
                          const PassObserver& observer);
// The same in two parts: the passes before `recompute`, and those from there on. Nothing is dumped
// of a trial.
ir::Program prepared_for(const Target* target, ir::Program program, bool makes_kernels,
                         const PassObserver& observer);
ir::Program finished_for(const Target* target, ir::Program program, bool makes_kernels,
                         const PassObserver& observer, const Segments& segments = {},
                         bool is_trial = false);

}  // namespace plait::compile
