// How much memory this process could still get.
#pragma once

#include <cstdint>
#include <string>

namespace plait {

// Bytes: what the machine has free or can free at once, or what the control groups of this process
// leave when that is less. `root` stands for "/".
int64_t available_memory(const std::string& root = "");

}  // namespace plait
