// How often the heap was asked for memory, in test binaries that use this: work that is the same on
// every run.
#pragma once

#include <cstdint>

namespace plait {

int64_t allocations_so_far();

}  // namespace plait
