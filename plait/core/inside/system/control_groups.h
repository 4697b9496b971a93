// The control groups of this process, which hold the resource limits of a container.
#pragma once

#include <string>
#include <string_view>

#include "plait/core/function_ref.h"

namespace plait {

struct ControlGroup {
  std::string folder;  // with the group's files
  bool version_2;
};

// Visits the group that governs `controller` ("cpu", "memory") for this process, and its ancestors,
// in version 1 and 2 of the hierarchy. `root` replaces "/".
void for_each_control_group(const std::string& root, std::string_view controller,
                            FunctionRef<void(const ControlGroup&)> visit);

}  // namespace plait
