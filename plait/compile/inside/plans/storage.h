// Storage and lifetime of each register.
#pragma once

#include "plait/compile/inside/plans/plan.h"

namespace plait::compile {

// Assigns each register its storage and its cell, and marks the last reads. The lifetimes of those
// in the frame are all of the function unless they share memory.
void assign_storage(PlannedFunction& function, bool shares_memory);

}  // namespace plait::compile
