// How many CPUs this process may use.
#pragma once

#include <optional>
#include <string>

namespace plait {

// The CPUs that the process may be scheduled on, or as many as its control groups pay for when that
// is less. At least 1.
int available_cpu_count();

// The smallest CPU quota among the control groups (version 1 or 2) of this process and those that
// contain them, in CPUs and rounded up; none when there is no quota. `root` stands for "/".
std::optional<int> cpu_quota(const std::string& root = "");

}  // namespace plait
