// Tells forked processes apart.
#pragma once

#include <cstdint>

namespace plait::dist {

// Grows in a process when it is forked: another number says that it is another process. Cheaper
// than its id, which the kernel knows.
uint64_t fork_count();

}  // namespace plait::dist
