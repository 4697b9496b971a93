// The control groups that this process is in: where the kernel keeps what a container may use.
#pragma once

#include <string>
#include <string_view>

#include "plait/core/function_ref.h"

namespace plait {

struct ControlGroup {
  std::string folder;  // that holds the group's files
  bool version_2;
};

// Visits the group that governs `controller` ("cpu", "memory") for this process, and those that
// contain it, in version 1 and 2 of the hierarchy. `root` stands for "/".
void for_each_control_group(const std::string& root, std::string_view controller,
                            FunctionRef<void(const ControlGroup&)> visit);

}  // namespace plait
