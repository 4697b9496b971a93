// Has more of the forward pass computed again, until a program fits into a budget of memory.
#pragma once

#include <cstdint>
#include <span>

#include "plait/compile/inside/passes/segments.h"
#include "plait/compile/inside/plans/plan.h"
#include "plait/compile/planned_memory.h"
#include "plait/ir/program.h"

namespace plait::compile {

// `sizes` are those of the entry's parameters.
PlannedMemory planned_memory(const Plan& plan, std::span<const int64_t> sizes);

// The segments with which the least is computed again; those that need least memory if no segments
// are enough. `prepared` is the program before `recompute`. A budget of at most 1 is a share of the
// temporaries without one, others are bytes for everything. Symbolic sizes count as 64.
Segments segments_within(double budget, const Target* target, const ir::Program& prepared);

}  // namespace plait::compile
