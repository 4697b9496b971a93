// The memory that this process can still allocate.
#pragma once

#include <cstdint>
#include <string>

namespace plait {

// In bytes: the memory that is free or can be freed immediately, limited by the control groups of
// this process. `root` replaces "/".
int64_t available_memory(const std::string& root = "");

}  // namespace plait
