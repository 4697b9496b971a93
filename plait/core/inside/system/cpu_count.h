// The number of CPUs that this process may use.
#pragma once

#include <optional>
#include <string>

namespace plait {

// The number of CPUs in the scheduler's affinity mask, limited by the quota of the control groups.
// At least 1.
int available_cpu_count();

// The smallest CPU quota among the control groups (version 1 or 2) of this process and their
// ancestors, in CPUs and rounded up; empty if there is no quota. `root` replaces "/".
std::optional<int> cpu_quota(const std::string& root = "");

}  // namespace plait
