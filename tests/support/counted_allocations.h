// Counts heap allocations, in test binaries that use it: a reproducible measure of work.
#pragma once

#include <cstdint>

namespace plait {

int64_t allocations_so_far();

}  // namespace plait
